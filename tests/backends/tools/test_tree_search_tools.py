"""`grep` and `find`: ripgrep and the Python walk give the same results."""

import pytest

from ohm_subagents._backends.in_process.tools import WITHOUT_RIPGREP, find_ripgrep
from ohm_subagents._backends.in_process.tools.globs import glob

pytestmark = pytest.mark.anyio

NOTE = f"\n\n[{WITHOUT_RIPGREP}]"


@pytest.fixture
def tree(desk):
    """Every kind of file that a search has to decide about."""
    (desk.cwd / ".git" / "info").mkdir(parents=True)
    desk.put(".git/config", "needle\n")
    desk.put(".git/info/exclude", "excluded.txt\n")
    desk.put(".gitignore", "build/\n*.log\n!keep.log\n/only_top.txt\n")
    desk.put(".ignore", "vendored/\n")
    desk.put("a/b.py", "first\nneedle one\nmiddle\nneedle two\nlast\n")
    desk.put("a.py", "def f():\n    return 'needle'\n")
    desk.put("a-b/c.py", "NEEDLE\n")
    desk.put("a/.gitignore", "local.txt\n")
    desk.put("a/local.txt", "needle\n")
    desk.put("a/only_top.txt", "needle deep\n")
    desk.put("only_top.txt", "needle\n")
    desk.put("build/sub/x.py", "needle\n")
    desk.put("vendored/y.py", "needle\n")
    desk.put("excluded.txt", "needle\n")
    desk.put("z.log", "needle\n")
    desk.put("keep.log", "needle kept\n")
    desk.put(".hidden/h.py", "needle\n")
    desk.put(".dot.py", "needle\n")
    desk.put("blob.dat", b"needle\n\0needle\n")
    desk.put("crlf.txt", b"needle\r\nother\r\n")
    desk.put("latin.txt", b"caf\xe9 needle\n")
    desk.put("wide.txt", "needle " + "x" * 5000 + "\n")
    desk.put("sp ace/ü.txt", "needle ü\n")
    (desk.cwd / "link.py").symlink_to("a.py")
    (desk.cwd / "linked").symlink_to("a")
    return desk


async def both(desk, tool, **arguments):
    by_ripgrep = await desk.use(tool, **arguments)
    desk.python_walk = True
    by_walk = await desk.use(tool, **arguments)
    desk.python_walk = False
    assert (by_walk.kind, by_walk.text.removesuffix(NOTE)) == (by_ripgrep.kind, by_ripgrep.text)
    return by_ripgrep


GREPS = [
    ({"pattern": "needle (one|two)"}, ["a/b.py:2: needle one", "a/b.py:4: needle two"]),
    (
        {"pattern": "needle", "path": "a"},
        ["a/b.py:2: needle one", "a/b.py:4: needle two", "a/only_top.txt:1: needle deep"],
    ),
    ({"pattern": "needle", "path": "a.py"}, ["a.py:2:     return 'needle'"]),
    (
        {"pattern": "needle", "glob": "*.py"},
        ["a/b.py:2: needle one", "a/b.py:4: needle two", "a.py:2:     return 'needle'"],
    ),
    ({"pattern": "needle", "glob": "*.log"}, ["keep.log:1: needle kept"]),
    ({"pattern": "needle", "glob": "a/**/*.py"}, ["a/b.py:2: needle one", "a/b.py:4: needle two"]),
    ({"pattern": "NEEDLE"}, ["a-b/c.py:1: NEEDLE"]),
    ({"pattern": "NEEDLE", "ignoreCase": True, "path": "a-b"}, ["a-b/c.py:1: NEEDLE"]),
    ({"pattern": "f()", "literal": True}, ["a.py:1: def f():"]),
    ({"pattern": "-needle"}, ['[No matches for "-needle"]']),
    ({"pattern": "needle", "path": "build"}, ["build/sub/x.py:1: needle"]),
    ({"pattern": "needle", "path": "z.log"}, ["z.log:1: needle"]),
    ({"pattern": "needle", "path": ".hidden"}, [".hidden/h.py:1: needle"]),
    ({"pattern": "^needle$", "path": "crlf.txt"}, ["crlf.txt:1: needle"]),
    ({"pattern": "^other", "path": "crlf.txt"}, ["crlf.txt:2: other"]),
    ({"pattern": "caf"}, ["latin.txt:1: caf\ufffd needle"]),
    ({"pattern": "needle x"}, ["wide.txt:1: needle " + "x" * 293 + " [line cut]"]),
    ({"pattern": "ü"}, ["sp ace/ü.txt:1: needle ü"]),
    (
        {"pattern": "needle", "glob": "b.py", "context": 1},
        ["a/b.py-1- first", "a/b.py:2: needle one", "a/b.py-3- middle", "a/b.py:4: needle two", "a/b.py-5- last"],
    ),
    (
        {"pattern": "first|last|def", "glob": "*.py", "context": 1},
        [
            "a/b.py:1: first",
            "a/b.py-2- needle one",
            "--",
            "a/b.py-4- needle two",
            "a/b.py:5: last",
            "--",
            "a.py:1: def f():",
            "a.py-2-     return 'needle'",
        ],
    ),
    (
        {"pattern": "needle", "glob": "*.py", "context": 1, "limit": 1},
        [
            "a/b.py-1- first",
            "a/b.py:2: needle one",
            "a/b.py-3- middle",
            "",
            "[Showing the first 1 matches; there are more: narrow the pattern, path or glob, or raise limit]",
        ],
    ),
    (
        {"pattern": "needle", "limit": 2},
        [
            "a/b.py:2: needle one",
            "a/b.py:4: needle two",
            "",
            "[Showing the first 2 matches; there are more: narrow the pattern, path or glob, or raise limit]",
        ],
    ),
]


@pytest.mark.parametrize(("arguments", "lines"), GREPS, ids=[str(arguments) for arguments, _ in GREPS])
async def test_grep_gives_the_same_lines_both_ways(tree, arguments, lines):
    assert (await both(tree, "grep", **arguments)).text == "\n".join(lines)


async def test_grep_goes_through_the_tree_in_order_of_path(tree):
    outcome = await both(tree, "grep", pattern="needle", ignoreCase=True)
    paths = list(dict.fromkeys(line.partition(":")[0] for line in outcome.text.splitlines()))
    assert paths == [
        "a/b.py",
        "a/only_top.txt",
        "a-b/c.py",
        "a.py",
        "crlf.txt",
        "keep.log",
        "latin.txt",
        "sp ace/ü.txt",
        "wide.txt",
    ]


FINDS = [
    ({"pattern": "*.py"}, ["a/b.py", "a-b/c.py", "a.py"]),
    ({"pattern": "a/**"}, ["a/b.py", "a/only_top.txt"]),
    ({"pattern": "**/*.{log,txt}", "path": "a"}, ["a/only_top.txt"]),
    ({"pattern": "*.py", "path": "build"}, ["build/sub/x.py"]),
    ({"pattern": "*.py", "path": "vendored"}, ["vendored/y.py"]),
    ({"pattern": "?.py", "limit": 2}, ["a/b.py", "a-b/c.py", "", "[Showing 2 of 3 files; narrow the pattern or path]"]),
    ({"pattern": "nothing*"}, ['[No files match "nothing*"]']),
]


@pytest.mark.parametrize(("arguments", "lines"), FINDS, ids=[str(arguments) for arguments, _ in FINDS])
async def test_find_gives_the_same_files_both_ways(tree, arguments, lines):
    assert (await both(tree, "find", **arguments)).text == "\n".join(lines)


async def test_outside_a_repository_gitignore_says_nothing(desk):
    desk.put(".gitignore", "*.log\n")
    desk.put("a.log", "needle\n")
    assert (await both(desk, "find", pattern="*")).text == "a.log"


async def test_the_rules_of_the_repository_above_cwd_hold(tree):
    tree.cwd /= "a"
    tree.put("sub/z.log", "needle\n")
    assert (await both(tree, "find", pattern="*")).text == "b.py\nonly_top.txt"


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("grep", {"pattern": "x", "path": "absent"}, 'There is no file or directory "absent".'),
        (
            "grep",
            {"pattern": "x", "path": "blob.dat"},
            "blob.dat is a binary file of 15 bytes and cannot be shown as text.",
        ),
        ("find", {"pattern": "x", "path": "absent"}, 'There is no directory "absent".'),
    ],
)
async def test_a_start_that_cannot_be_searched_is_one_sentence(tree, tool, arguments, sentence):
    assert (await both(tree, tool, **arguments)) == await tree.use(tool, **arguments)
    assert (await tree.use(tool, **arguments)).text == sentence


@pytest.mark.parametrize(
    ("python_walk", "cause"),
    [(False, "unclosed group"), (True, "missing ), unterminated subpattern")],
    ids=["ripgrep", "walk"],
)
async def test_an_invalid_pattern_is_one_sentence(tree, python_walk, cause):
    tree.python_walk = python_walk
    outcome = await tree.use("grep", pattern="(")
    assert outcome.kind == "failed"
    assert outcome.text == (
        f'The pattern "(" is not a valid regular expression: {cause}; set literal to search it as text.'
    )


async def test_the_walk_says_that_ripgrep_is_missing(tree):
    tree.python_walk = True
    for tool, arguments in (("grep", {"pattern": "x"}), ("find", {"pattern": "x"}), ("code_search", {"query": "x"})):
        assert (await tree.use(tool, **arguments)).text.endswith(NOTE)


async def test_no_user_setting_changes_a_result(tree, monkeypatch):
    config = tree.cwd.parent / "ripgreprc"
    config.write_text("--hidden\n--no-ignore\n--max-count=1\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    assert (await tree.use("find", pattern="*.log")).text == "keep.log"


async def test_a_name_that_is_not_utf8_does_not_break_a_listing(desk):
    (desk.cwd / "bad\udcff.txt").write_text("needle\n")
    assert (await both(desk, "find", pattern="*")).text == "bad\ufffd.txt"
    assert (await both(desk, "grep", pattern="needle")).text == "bad\ufffd.txt:1: needle"
    assert (await desk.use("ls")).text == "bad\ufffd.txt"


async def test_many_matches_stop_at_the_output_budget(desk):
    desk.put("a.txt", ("needle " + "x" * 280 + "\n") * 900)
    outcome = await both(desk, "grep", pattern="needle", limit=5000)
    assert len(outcome.text) < 51_000
    assert outcome.text.endswith("[The output was cut: narrow the pattern, path or glob, or raise limit]")


async def test_ripgrep_is_found_on_path_or_in_its_package(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_ripgrep().endswith("/rg")
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_ripgrep() == str(program)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.py", ["a.py", "d/a.py"], ["a.pyc", "a.py/x"]),
        ("./*.py", ["a.py"], []),
        ("src/*.py", ["src/a.py"], ["src/d/a.py", "a.py", "x/src/a.py"]),
        ("src/**", ["src/a", "src/d/a"], ["src", "x/src/a"]),
        ("**/a.py", ["a.py", "d/a.py", "d/e/a.py"], ["ba.py"]),
        ("src/**/a.py", ["src/a.py", "src/d/a.py"], ["a.py"]),
        ("*.{ts,tsx}", ["a.ts", "d/a.tsx"], ["a.t", "a.{ts,tsx}"]),
        ("{a,{b,c}}.py", ["a.py", "b.py", "c.py"], ["d.py"]),
        ("a{b.py", ["a{b.py"], ["ab.py"]),
        ("a}b,c", ["a}b,c"], []),
        ("[ab].py", ["a.py", "b.py"], ["c.py"]),
        ("[!ab].py", ["c.py"], ["a.py"]),
        ("[^ab].py", ["c.py"], ["a.py"]),
        ("[z-a].py", ["[z-a].py"], ["a.py"]),
        ("[].py", ["[].py"], []),
        ("a?.py", ["ab.py"], ["a.py", "a/.py"]),
        ("a+(b).py", ["a+(b).py"], ["aab.py"]),
    ],
)
def test_a_glob_means_what_a_shell_means(pattern, matching, other):
    matches = glob(pattern)
    assert [path for path in [*matching, *other] if matches(path)] == matching
