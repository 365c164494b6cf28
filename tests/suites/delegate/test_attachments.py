"""Files or lines of them, then the context, stand before a prompt, and only the backend gets to see them."""

import os
from functools import partial

import anyio
import pytest
from loops import one_loop
from surface import item, mounted

from ohm_subagents import Ohm
from ohm_subagents.contract import Send, Start
from ohm_subagents.suites.delegate.attachments import Attachment, preface
from ohm_subagents.testing import HERMETIC, EventLog, Step

pytestmark = pytest.mark.anyio

FIVE = "line1\nline2\nline3\nline4\nline5\n"
TOO_LARGE = 1024 * 1024 + 1
RESUME = {"subagents": {"sendToFinished": "resume"}}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    """Real time: a virtual clock jumps ahead while a thread reads."""
    return request.param


def before(cwd, *files, context="", is_confined=False):
    """Return what precedes a prompt."""
    wanted = tuple(Attachment(path=one) if isinstance(one, str) else one for one in files)
    return partial(preface, wanted, context, cwd, is_confined=is_confined, left_out=str)


async def asked(tmp_path, *files, prompt="P", **fields):
    """Return what the backend was asked."""
    async with mounted("done", cwd=tmp_path) as surface:
        wanted = item(prompt, preface=before(tmp_path, *files, **fields))
        await surface.engine.execute(Start(items=(wanted,)))
    [request] = surface.backend.calls
    return request.prompt


def lines_of(**wanted):
    return Attachment(path="f.txt", **wanted)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("content", "wanted", "shown"),
    [
        (FIVE, {}, FIVE[:-1]),
        (FIVE, {"start": 2, "end": 3}, "line2\nline3"),
        (FIVE, {"start": 4}, "line4\nline5"),
        (FIVE, {"end": 2}, "line1\nline2"),
        (FIVE, {"start": 5, "end": 50}, "line5"),
        (FIVE, {"start": 9}, ""),
        (FIVE, {"start": 4, "end": 2}, ""),
        (FIVE, {"start": 0, "end": 1}, "line1"),
        (FIVE, {"start": -3, "end": 1}, "line1"),
        (FIVE, {"end": 0}, ""),
        (FIVE, {"end": -1}, ""),
        (FIVE, {"head": 2}, "line1\nline2"),
        (FIVE, {"head": 20}, FIVE[:-1]),
        (FIVE, {"head": 0}, ""),
        (FIVE, {"head": -1}, ""),
        (FIVE, {"tail": 2}, "line4\nline5"),
        (FIVE, {"tail": 20}, FIVE[:-1]),
        (FIVE, {"tail": 0}, ""),
        (FIVE, {"tail": -1}, ""),
        ("no end", {"tail": 1}, "no end"),
        ("a\n\n", {}, "a\n"),
        ("\n", {}, ""),
        ("", {}, ""),
        ("", {"tail": 3}, ""),
        ("a\r\nb\r\n", {}, "a\r\nb\r"),
        ("a\x0bb\x0cc\x85d\u2028e\n", {"head": 1}, "a\x0bb\x0cc\x85d\u2028e"),
        ("\ufeffgrüße\n", {}, "\ufeffgrüße"),
    ],
)
@one_loop
async def test_the_lines_that_are_wanted_stand_under_the_path(tmp_path, content, wanted, shown):
    (tmp_path / "f.txt").write_bytes(content.encode())

    assert await asked(tmp_path, lines_of(**wanted)) == f"=== f.txt ===\n{shown}\n\nP"


async def test_blocks_stand_in_their_order_then_the_context_then_the_prompt_as_it_is(tmp_path):
    (tmp_path / "a.txt").write_text("A\n")
    (tmp_path / "c.txt").write_text("C\n")
    prompt = await asked(
        tmp_path, "a.txt", "b.txt", Attachment(path="c.txt", tail=1), context="Previously:\n\n…", prompt="  P\n"
    )

    assert prompt == "=== a.txt ===\nA\n\n[file not found: b.txt]\n\n=== c.txt ===\nC\n\nPreviously:\n\n…\n\n  P\n"


async def test_a_file_that_was_named_and_not_found_is_told_beside_the_answer(tmp_path):
    (tmp_path / "there.py").write_text("x = 1\n")
    files = ["there.py", "nowhere.py"]
    named = [{"name": "a", "prompt": "P", "files": files}, {"name": "b", "prompt": "P", "files": files[:1]}]
    config = {"subagentBackend": "none", "subagents": {"store": "memory"}}
    async with Ohm.open(cwd=tmp_path, env=HERMETIC, config=config, suites=["delegate"]) as ohm:
        told = await ohm.call("delegate_to_subagents", {"tasks": named})

    first, second = told.text.splitlines()
    assert first.endswith(") [file not found: nowhere.py]")
    assert "[file" not in second
    assert [one.get("leftOut") for one in told.details["windows"]] == [["file not found: nowhere.py"], None]
    assert "Note: file not found: nowhere.py" in told.render(expanded=True, width=80)


async def test_a_text_may_precede_a_prompt_as_it_is(tmp_path):
    async with mounted("done", cwd=tmp_path) as surface:
        await surface.engine.execute(Start(items=(item("P", preface="Before.\n"),)))

    assert [request.prompt for request in surface.backend.calls] == ["Before.\n\n\nP"]


async def test_without_files_and_context_the_prompt_stands_alone(tmp_path):
    assert await asked(tmp_path, prompt="  P\n") == "  P\n"


async def test_paths_are_relative_to_the_directory_of_the_task_and_shown_as_given(tmp_path):
    place = tmp_path / "sub"
    place.mkdir()
    (tmp_path / "x.txt").write_text("outer\n")
    (place / "x.txt").write_text("inner\n")

    assert await asked(place, "x.txt") == "=== x.txt ===\ninner\n\nP"
    assert await asked(place, "../x.txt") == "=== ../x.txt ===\nouter\n\nP"
    assert await asked(tmp_path, "./sub/../x.txt") == "=== ./sub/../x.txt ===\nouter\n\nP"
    assert await asked(place, f"{tmp_path}/x.txt") == f"=== {tmp_path}/x.txt ===\nouter\n\nP"


async def test_what_cannot_be_read_says_why_in_its_place(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("absent")
    os.mkfifo(tmp_path / "pipe")
    unreadable = ("bytes", "folder", "loop", "pipe", "/dev/zero", "nul\0", "\ud800", "n" * 300)
    missing = ("absent", "absent/file", "file/below", "dangling")
    shown = await asked(tmp_path, *unreadable, *missing)

    expected = [f"[could not read file: {path}]" for path in unreadable] + [
        f"[file not found: {path}]" for path in missing
    ]
    assert shown.split("\n\n") == [*(line.replace("\ud800", "?") for line in expected), "P"]


@pytest.mark.parametrize(
    ("size", "kib"), [(TOO_LARGE, 1024), (1024 * 1024 + 511, 1024), (1024 * 1024 + 512, 1025), (2 * 1024 * 1024, 2048)]
)
async def test_a_file_of_more_than_a_mebibyte_is_not_read(tmp_path, size, kib):
    with (tmp_path / "f.txt").open("wb") as file:
        file.truncate(size)

    assert await asked(tmp_path, lines_of(head=1)) == f"[file too large: f.txt ({kib}KB, limit 1024KB)]\n\nP"


async def test_a_file_of_a_mebibyte_is(tmp_path):
    (tmp_path / "f.txt").write_bytes(b"x" * (TOO_LARGE - 1))

    assert len(await asked(tmp_path, "f.txt")) == len("=== f.txt ===\n\n\nP") + TOO_LARGE - 1


async def test_a_surface_may_keep_the_files_within_the_directory(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "secret").write_text("s\n")
    (place / "f.txt").write_text("in\n")
    (place / "link").symlink_to(tmp_path / "secret")
    (place / "fine").symlink_to("f.txt")
    (place / "loop").symlink_to("loop")
    outside = ("../secret", f"{tmp_path}/secret", "link", "/etc/absent", "loop/../link")
    inside = ("f.txt", "fine", f"{place}/f.txt", "../place/f.txt")
    shown = await asked(place, *outside, *inside, "absent", is_confined=True)

    denied = [f"[access denied: path outside project directory: {path}]" for path in outside]
    read = [f"=== {path} ===\nin" for path in inside]
    assert shown.split("\n\n") == [*denied, *read, "[file not found: absent]", "P"]
    assert await asked(place, "link") == "=== link ===\ns\n\nP", "unless it says so, nothing is kept in"


async def test_the_record_has_the_prompt_as_it_was_given(tmp_path):
    (tmp_path / "f.txt").write_text("F\n")
    log = EventLog()
    async with mounted("done", cwd=tmp_path, plugins=[log]) as surface:
        wanted = item("P", preface=before(tmp_path, "f.txt", context="C"))
        reply = await surface.engine.execute(Start(items=(wanted,)))

    task = reply.items[0].task
    assert surface.backend.calls[0].prompt == "=== f.txt ===\nF\n\nC\n\nP"
    assert (task.assignment.prompt, task.runs[0].prompt) == ("P", "P")
    assert [event.prompt for _, event in log.entries if event.kind == "run_started"] == ["P"]


async def test_only_the_first_run_of_a_task_has_files_and_context(tmp_path):
    (tmp_path / "f.txt").write_text("F\n")
    gate = anyio.Event()
    start = Start(items=(item("P", preface=before(tmp_path, "f.txt", context="C")),))
    async with mounted(Step(text="a", gate=gate), "b", "c", cwd=tmp_path, config=RESUME) as surface:
        async with anyio.create_task_group() as group:
            group.start_soon(surface.engine.execute, start)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(surface.engine.execute, Send(id="task_1", prompt="Q"))
            await anyio.wait_all_tasks_blocked()
            gate.set()
        await surface.engine.execute(Send(id="task_1", prompt="R"))

    assert [request.prompt for request in surface.backend.calls] == ["=== f.txt ===\nF\n\nC\n\nP", "Q", "R"]


async def test_files_are_read_when_the_run_begins_and_not_before(tmp_path):
    file, gate = tmp_path / "f.txt", anyio.Event()
    file.write_text("before\n")
    start = Start(items=(item("first"), item("second", preface=before(tmp_path, "f.txt"))))
    async with mounted(Step(text="a", gate=gate), "b", cwd=tmp_path) as surface, anyio.create_task_group() as group:
        group.start_soon(surface.engine.execute, start)
        await anyio.wait_all_tasks_blocked()
        file.write_text("after\n")
        gate.set()

    assert surface.backend.calls[1].prompt == "=== f.txt ===\nafter\n\nsecond"
