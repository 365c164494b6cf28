from __future__ import annotations

import pytest

from ohm_subagents._views.cells import cells
from ohm_subagents.suites.delegate.tool_previews import tool_call_preview, tool_result_summary


def preview(name: str, arguments: dict, *, width: int = 160) -> str:
    return tool_call_preview(name, arguments, width=width, cwd="/desk/app", home="/desk")


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("ls", {"path": "src/"}, "ls → src/"),
        ("ls", {}, "ls → ."),
        ("ls", {"path": "/desk/app"}, "ls → ."),
        ("ls", {"path": "/desk/app/src/"}, "ls → src/"),
        ("ls", {"path": "/desk/other"}, "ls → ~/other"),
        ("ls", {"path": "/desk"}, "ls → ~"),
        ("ls", {"path": "/deskshop/a"}, "ls → /deskshop/a"),
        ("find", {"pattern": "*.ts", "path": "src/"}, "find → *.ts in src/"),
        ("find", {"pattern": "*.ts"}, "find → *.ts"),
        ("find", {}, "find → ..."),
        (
            "edit",
            {
                "path": "src/a.ts",
                "edits": [{"oldText": "a\nb", "newText": "c"}, {"oldText": "x", "newText": "y\n\nz"}],
            },
            "edit → src/a.ts (2 edits) +3/-3",
        ),
        ("edit", {"path": "a", "edits": [{"oldText": "x\n \ny", "newText": ""}]}, "edit → a (1 edit) +0/-2"),
        ("edit", {"path": "a", "oldText": "x", "newText": "y\nz"}, "edit → a (1 edit) +2/-1"),
        ("edit", {"path": "a", "edits": []}, "edit → a"),
        ("edit", {"filePath": "/desk/app/a"}, "edit → a"),
        ("edit", {"edits": 3}, "edit → ..."),
        ("write", {"path": "a", "content": "1\n\n2\n"}, "write → a +2"),
        ("write", {"path": "/desk/app/b/c", "content": ""}, "write → b/c +0"),
        ("read", {"path": "a.ts", "offset": 10, "limit": 50}, "read → a.ts:10+50 (50 lines)"),
        ("read", {"path": "a.ts", "offset": 1234567}, "read → a.ts:1234567"),
        ("read", {"path": "a.ts", "limit": 5.0}, "read → a.ts+5 (5 lines)"),
        ("read", {"path": "a.ts"}, "read → a.ts"),
        ("read", {"path": ["a"], "offset": True}, "read → ..."),
        ("grep", {"pattern": "TODO", "glob": "*.ts", "path": "src"}, "grep → /TODO/ → *.ts"),
        ("grep", {"pattern": "TODO", "path": "/desk/app/src"}, "grep → /TODO/ → src"),
        ("grep", {"pattern": "TODO"}, "grep → /TODO/"),
        ("bash", {"command": "npm test\nrm x"}, "bash → npm test"),
        ("bash", {"command": None}, "bash → ..."),
        ("fetch", {"url": "x", "n": [1, "é"]}, 'fetch {"url":"x","n":[1,"é"]}'),
        ("list_todos", {}, "list_todos"),
    ],
)
def test_a_call_in_one_line(name: str, arguments: dict, shown: str) -> None:
    assert preview(name, arguments) == shown


def test_a_preview_is_cut_to_its_cells() -> None:
    shown = preview("bash", {"command": "echo " + "日本" * 40}, width=30)
    assert shown.startswith("bash → echo 日本")
    assert shown.endswith("…")
    assert cells(shown) <= 30


def test_a_preview_is_one_line_that_cannot_drive_the_terminal() -> None:
    assert preview("read", {"path": "a\nb\x1b[2J\x07"}) == "read → a b"
    assert preview("x\ny\x9b", {}) == "x y"


def test_arguments_too_deep_to_be_written_are_left_out() -> None:
    deep: object = []
    for _ in range(100_000):
        deep = [deep]
    assert preview("dig", {"deep": deep}) == "dig"


@pytest.mark.parametrize(
    ("name", "text", "details", "shown"),
    [
        ("ls", "(empty directory)", {}, "  (empty)"),
        ("ls", "", {}, "  (empty)"),
        ("ls", "[src is an empty directory]", None, "  (empty)"),
        ("ls", "a\nb\nsrc/\n", {}, "  2 files, 1 dir"),
        ("ls", "a", {}, "  1 file"),
        ("ls", "a/\nb/", {}, "  2 dirs"),
        ("ls", "a\nb\n\n[500 entries limit reached]", {"entryLimitReached": 500}, "  2 files+"),
        ("ls", "a\nb\n\n[500 entries limit reached]", {}, "  2 files"),
        ("ls", "a\nb\n\n[500 entries limit reached]", None, "  2 files+"),
        ("ls", "a\nb/\n\n[Showing 2 of 9 entries; raise limit]", None, "  1 file, 1 dir+"),
        ("find", "No files found matching pattern", {}, "  0 matches"),
        ("find", "No files found matching pattern\n", {}, "  0 matches"),
        ("find", '[No files match "*.x"]', None, "  0 matches"),
        ("find", "", {}, "  0 matches"),
        ("find", "a", {}, "  1 match"),
        ("find", "a\nb\nc", None, "  3 matches"),
        ("find", "a\nb", {"resultLimitReached": 2}, "  2 matches+"),
        ("bash", "a", {}, None),
    ],
)
def test_what_a_listing_found_is_counted(name: str, text: str, details: dict | None, shown: str | None) -> None:
    assert tool_result_summary(name, text, details) == shown
