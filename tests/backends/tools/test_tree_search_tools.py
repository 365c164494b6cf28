"""`grep` and `find`: ripgrep and the Python walk give the same results."""

import os
import re
import sys
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents.backends.in_process.programs import find_ripgrep
from ohm_subagents.backends.in_process.tools import tree as tree_module
from ohm_subagents.backends.in_process.tools import walk
from ohm_subagents.backends.in_process.tools.globs import glob
from ohm_subagents.backends.in_process.tools.ignore_rules import IgnoreRules
from ohm_subagents.backends.in_process.tools.tree import TreeSearch

pytestmark = pytest.mark.anyio


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


EXPRESSIONS = [
    ({"pattern": "needle (one|two)"}, ["a/b.py:2: needle one", "a/b.py:4: needle two"]),
    ({"pattern": "^needle$", "path": "crlf.txt"}, ["crlf.txt:1: needle"]),
    ({"pattern": "^other", "path": "crlf.txt"}, ["crlf.txt:2: other"]),
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
]


@pytest.mark.parametrize(("arguments", "lines"), EXPRESSIONS, ids=[str(arguments) for arguments, _ in EXPRESSIONS])
async def test_grep_takes_regular_expressions(tree, arguments, lines):
    assert (await tree.use("grep", **arguments)).text == "\n".join(lines)


GREPS = [
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
    ({"pattern": "needle", "path": "crlf.txt"}, ["crlf.txt:1: needle"]),
    ({"pattern": "caf"}, ["latin.txt:1: caf\ufffd needle"]),
    ({"pattern": "needle x"}, ["wide.txt:1: needle " + "x" * 293 + " [line cut]"]),
    ({"pattern": "ü"}, ["sp ace/ü.txt:1: needle ü"]),
    (
        {"pattern": "needle", "glob": "b.py", "context": 1},
        ["a/b.py-1- first", "a/b.py:2: needle one", "a/b.py-3- middle", "a/b.py:4: needle two", "a/b.py-5- last"],
    ),
    (
        {"pattern": "i", "glob": "*.py", "context": 1},
        [
            "a/b.py:1: first",
            "a/b.py-2- needle one",
            "a/b.py:3: middle",
            "a/b.py-4- needle two",
        ],
    ),
    (
        {"pattern": "t", "glob": "b.py", "context": 0},
        ["a/b.py:1: first", "a/b.py:4: needle two", "a/b.py:5: last"],
    ),
    (
        {"pattern": "def", "glob": "*.py", "context": 1},
        ["a.py:1: def f():", "a.py-2-     return 'needle'"],
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


@pytest.mark.sample(3)
@pytest.mark.parametrize(("arguments", "lines"), GREPS, ids=[str(arguments) for arguments, _ in GREPS])
async def test_grep_gives_the_same_lines_both_ways(tree, arguments, lines):
    assert (await tree.use("grep", **arguments)).text == "\n".join(lines)


async def test_grep_goes_through_the_tree_in_order_of_path(tree):
    outcome = await tree.use("grep", pattern="needle", ignoreCase=True)
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
    assert (await tree.use("find", **arguments)).text == "\n".join(lines)


async def test_outside_a_repository_gitignore_says_nothing(desk, monkeypatch):
    monkeypatch.setattr(walk, "_is_there", lambda _directory, _name: False)  # above a temporary directory may be one
    desk.put(".gitignore", "*.log\n")
    desk.put("a.log", "needle\n")
    assert (await desk.use("find", pattern="*")).text == "a.log"


async def test_the_rules_of_the_repository_above_cwd_hold(tree):
    tree.cwd /= "a"
    tree.put("sub/z.log", "needle\n")
    assert (await tree.use("find", pattern="*")).text == "b.py\nonly_top.txt"


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
    assert (await tree.use(tool, **arguments)) == await tree.use(tool, **arguments)
    assert (await tree.use(tool, **arguments)).text == sentence


async def test_an_invalid_pattern_is_one_sentence(tree):
    outcome = await tree.use("grep", pattern="(")
    assert outcome.kind == "failed"
    assert outcome.text == (
        'The pattern "(" is not a valid regular expression: unclosed group; set literal to search it as text.'
    )
    for pattern in ("a\nb", "a{1000}{1000}{1000}"):
        assert "is not a valid regular expression" in (await tree.use("grep", pattern=pattern)).text


@pytest.mark.parametrize("literal", [False, True])
async def test_a_pattern_that_holds_a_nul_is_one_sentence(desk, literal):
    desk.put("a.txt", "needle\n")
    outcome = await desk.use("grep", pattern="need\0le", literal=literal)
    assert (outcome.kind, outcome.text) == (
        "failed",
        "The pattern holds a NUL character, which no line of a text file does; leave it out.",
    )
    assert (await desk.use("grep", pattern="needle", glob="\0")).text.startswith("[No matches")
    assert (await desk.use("find", pattern="a\0*")).text.startswith("[No files match")


UNREAD = "[Some files or directories could not be read and are not part of this result]"
SEARCHES = [("grep", {"pattern": "needle"}), ("find", {"pattern": "*"}), ("code_search", {"query": "needle"})]


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ("kill -SEGV $$", "ripgrep was ended by the signal Segmentation fault"),
        ("printf 'a.txt\\0001:needle\\n'; kill -KILL $$", "ripgrep was ended by the signal Killed"),
        ("exit 3", "ripgrep ended with exit code 3"),
        ("echo 'rg: out of files' >&2; exit 2", "out of files"),
    ],
)
async def test_a_search_that_broke_is_never_a_result(desk, script, cause):
    desk.put("a.txt", "needle\n")
    desk.fake_ripgrep(script)
    outcome = await desk.use("grep", pattern="needle")
    assert (outcome.kind, outcome.text) == (
        "failed",
        f"The search failed and has no result: {cause}. Search a smaller part of the tree, or use bash.",
    )


@pytest.mark.parametrize(
    ("record", "found"),
    [("./a.txt\\0001:needle\\n", "a.txt:1: needle"), ("", '[No matches for "needle"]')],
)
async def test_a_search_that_could_not_read_everything_says_so(desk, record, found):
    desk.put("a.txt", "needle\n")
    desk.fake_ripgrep(f"printf '{record}'; exit 2")
    outcome = await desk.use("grep", pattern="needle")
    assert (outcome.kind, outcome.text) == ("success", f"{found}\n\n{UNREAD}")


@pytest.mark.parametrize(
    "told", ["./a.txt\\0001:secret", "./a.txt\\0002:needle", "./gone.txt\\0001:secret", "../outside.txt\\0001:secret"]
)
async def test_a_line_that_ripgrep_tells_is_shown_only_if_it_stands_there(desk, told):
    desk.put("a.txt", "needle\n")
    desk.put("../outside.txt", "secret\n")
    desk.fake_ripgrep(f"printf '{told}\\n./a.txt\\0001:needle\\n'")
    assert (await desk.use("grep", pattern="e")).text == f"a.txt:1: needle\n\n{UNREAD}"


async def test_a_file_of_two_bytes_a_character_is_searched_by_ripgrep(desk):
    desk.put("wide.txt", "first\r\nneedle ü\r\n".encode("utf-16"))
    desk.put("marked.txt", b"\xef\xbb\xbfneedle\n")
    assert (await desk.use("grep", pattern="needle")).text == "marked.txt:1: needle\nwide.txt:2: needle ü"


async def test_a_search_goes_on_until_the_last_portion_of_a_tree(desk, monkeypatch):
    monkeypatch.setattr(tree_module, "_PORTION_BYTES", 1)
    for number in range(4):
        desk.put(f"{number}.txt", "needle\n")
    assert (await desk.use("grep", pattern="needle")).text == "\n".join(f"{n}.txt:1: needle" for n in range(4))
    assert (await desk.use("grep", pattern="needle", limit=3)).text.startswith("0.txt:1: needle\n1.txt:1: needle\n2")


async def test_a_tree_that_is_deeper_than_can_be_walked_says_so(desk):
    desk.put("a.txt", "needle\n")
    desk.put("d/" * 250 + "b.txt", "needle\n")
    assert (await desk.use("find", pattern="*")).text == f"a.txt\n\n{UNREAD}"
    assert (await desk.use("grep", pattern="needle")).text == f"a.txt:1: needle\n\n{UNREAD}"


async def test_ripgrep_has_limits_of_memory_and_time(desk):
    desk.put("a.txt", "needle\n")
    desk.fake_ripgrep("read go < ../go; ulimit -v > ../limits; ulimit -t >> ../limits")
    os.mkfifo(desk.cwd.parent / "go")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(desk.use, "grep", pattern="needle"))
        async with await anyio.open_file(desk.cwd.parent / "go", "w") as go:  # it has begun, and so was limited
            await anyio.wait_all_tasks_blocked()
            await go.write("go\n")
    assert (desk.cwd.parent / "limits").read_text() == f"{1 << 20}\n120\n"


LIMITED_SEARCH = """
import resource, sys
from pathlib import Path
import anyio, psutil
from ohm_subagents.backends.in_process.programs import find_ripgrep
from ohm_subagents.backends.in_process.tools.ripgrep import Ripgrep
from ohm_subagents.backends.in_process.tools.hits import Hits, Query

async def main():
    hits = Hits(limit=10, context=0)
    query = Query(pattern="needle")
    await Ripgrep(program=find_ripgrep()).match(Path(sys.argv[1]), ["a.txt"], query, hits)
    print([line.text for line in hits.lines], psutil.Process().children())

anyio.run(main)
"""


@pytest.mark.slow
async def test_a_search_works_in_a_process_that_may_use_less_than_ripgrep(desk):
    desk.put("a.txt", "needle\n")
    limits = "; ".join(f"ulimit -{kind}{limit}" for limit in ("v 1000000", "t 60") for kind in "SH")
    search = ["sh", "-c", f'{limits}; exec "$0" -c "$1" "$2"', sys.executable, LIMITED_SEARCH, str(desk.cwd)]
    done = await anyio.run_process(search, check=False)
    assert (done.stdout, done.stderr) == (b"['needle'] []\n", b"")


class Ended(BaseException):
    """The exception that cancels a walk."""


def open_descriptors():
    return len([*Path("/proc/self/fd").iterdir()])


@pytest.mark.parametrize("start", [".", "d3/e1"])
@pytest.mark.parametrize("step", ["check_cancelled", "entering"])
async def test_wherever_a_walk_is_cancelled_every_directory_is_closed(desk, monkeypatch, start, step):
    for number in range(6):
        desk.put(f"d{number}/.gitignore", "*.log\n")
        desk.put(f"d{number}/e1/f/a.txt", "needle\n")
    left, entering = 0, IgnoreRules.entering

    def met(name):
        nonlocal left
        left -= name == step
        if left < 0:
            raise Ended

    def entered(*given, **named):
        met("entering")
        return entering(*given, **named)

    monkeypatch.setattr(walk.from_thread, "check_cancelled", lambda: met("check_cancelled"))
    monkeypatch.setattr(IgnoreRules, "entering", entered)
    before, found = open_descriptors(), []
    for steps in count():
        left = steps
        with suppress(Ended):
            found = [*walk.Walk(root=desk.cwd, start=start).files()]
        assert open_descriptors() == before
        if found:
            break
    assert steps > 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_an_unreadable_directory_does_not_hide_the_rest(desk):
    desk.put("a.txt", "needle\n")
    locked = desk.put("locked/b.txt", "needle\n").parent
    locked.chmod(0)
    assert (await with_gaps(desk, "grep", pattern="needle")).text == "a.txt:1: needle"
    assert (await with_gaps(desk, "find", pattern="*")).text == "a.txt"
    locked.chmod(0o700)


async def with_gaps(desk, tool, **arguments):
    outcome = await desk.use(tool, **arguments)
    assert outcome.text.endswith(f"\n\n{UNREAD}")
    return type(outcome)(outcome.text.removesuffix(f"\n\n{UNREAD}"), outcome.kind)


@pytest.mark.timeout(20)
async def test_no_glob_and_no_ignore_file_freezes_a_search(desk):
    name = "a" * 250
    pattern = "*a" * 20 + "*b"
    desk.put(name, "needle\n")
    desk.put(f"{'a/' * 60}b/{name}", "needle\n")
    desk.put(".ignore", f"{pattern}\n{'**/a/' * 20}*c\n")
    assert (await desk.use("find", pattern=pattern)).text == f'[No files match "{pattern}"]'
    assert (await desk.use("find", pattern="**/a/" * 20 + "c")).text.startswith("[No files match")
    assert (await desk.use("grep", pattern="needle", glob=pattern)).text == '[No matches for "needle"]'


async def test_a_glob_that_stands_for_too_many_is_one_sentence(desk):
    for tool, arguments in (("find", {"pattern": "{a,b}" * 60}), ("grep", {"pattern": "x", "glob": "{a,b}" * 60})):
        outcome = await desk.use(tool, **arguments)
        assert (outcome.kind, outcome.text) == (
            "failed",
            "The glob pattern has too many alternatives in braces: search for fewer of them at a time.",
        )


async def test_only_what_is_shown_of_a_listing_is_kept(desk):
    for number in range(5):
        desk.put(f"{number}.txt", "")
    files = await TreeSearch(ripgrep=None).files(desk.cwd, ".", lambda path: path != "1.txt", 2)
    assert (files.paths, files.total) == (["0.txt", "2.txt"], 4)


def plant(desk, kind, name):
    """Put something hostile where an ignore file is looked for."""
    place = desk.cwd / name
    match kind:
        case "a device":
            place.symlink_to("/dev/zero")
        case "a link":
            place.symlink_to(desk.put("rules", "*.txt\n"))
        case "a pipe":
            os.mkfifo(place)
        case "a directory":
            place.mkdir()
        case "a large one":
            place.write_text("".join(f"*x{number}*y\n" for number in range(100_000)))
        case _:
            place.write_text("*.log\n" * 20_000)
            desk.put(f"sub/{name}", "*.log\n" * 30_000)


KINDS = ["a device", "a link", "a pipe", "a directory", "a large one", "many"]
OTHERS = [(kind, name) for name in (".ignore", ".rgignore") for kind in KINDS]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, ".gitignore") for kind in KINDS),
        *(pytest.param(*each, marks=[] if each[0] == "a link" else pytest.mark.slow) for each in OTHERS),
    ],
)
async def test_an_ignore_file_that_is_no_bounded_regular_file_has_no_effect_and_is_told(desk, kind, name):
    desk.put(".git/HEAD", "")
    desk.put("a.txt", "needle\n")
    desk.put("sub/b.txt", "needle\n")
    plant(desk, kind, name)
    told = (
        "[Ignore files without effect, for they are no regular files or have together over 262144 bytes: "
        f"{'sub/' if kind == 'many' else ''}{name}]"
    )
    for tool, arguments in SEARCHES:
        text = (await desk.use(tool, **arguments)).text
        assert "a.txt" in text
        assert "b.txt" in text
        assert text.endswith(told)


async def test_ripgrep_reads_no_ignore_file_itself(desk):
    desk.put("a.txt", "needle\n")
    desk.fake_ripgrep('printf "%s\\n" "$@" > ../arguments')
    await desk.use("grep", pattern="needle")
    arguments = (desk.cwd.parent / "arguments").read_text().splitlines()
    assert "--no-ignore" in arguments
    assert arguments[arguments.index("--") :] == ["--", "needle", "./a.txt"]


async def test_an_ignore_file_above_the_working_directory_is_held_to_the_same(desk):
    desk.put("a.txt", "needle\n")
    (desk.cwd.parent / ".ignore").symlink_to("/dev/zero")
    assert (await desk.use("find", pattern="*")).text.endswith("bytes: ../.ignore]")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("rules", "seen"),
    [
        ("*.py\n!b.py\n", ["a.txt", "b.py", "d/b.py", "d/e/c.txt"]),
        ("!b.py\n*.py\n", ["a.txt", "d/e/c.txt"]),
        ("b.py\n!/b.py\n", ["a.py", "a.txt", "b.py", "d/a.py", "d/e/c.txt"]),
        ("d/*\n!d/e\n", ["a.py", "a.txt", "b.py", "d/e/c.txt"]),
        ("/d/e/\n", ["a.py", "a.txt", "b.py", "d/a.py", "d/b.py"]),
        ("e\na.py/\n", ["a.py", "a.txt", "b.py", "d/a.py", "d/b.py"]),
        ("[ab].*\n!**/*.py\n", ["a.py", "b.py", "d/a.py", "d/b.py", "d/e/c.txt"]),
        ("d/\n!d\n", ["a.py", "a.txt", "b.py", "d/a.py", "d/b.py", "d/e/c.txt"]),
        ("\\a.py \r\n# b.py\n", ["a.txt", "b.py", "d/b.py", "d/e/c.txt"]),
    ],
)
async def test_ignore_files_mean_what_they_mean_to_ripgrep(desk, rules, seen):
    for path in ("a.py", "a.txt", "b.py", "d/a.py", "d/b.py", "d/e/c.txt"):
        desk.put(path, "")
    desk.put(".ignore", rules)
    by_ripgrep = await anyio.run_process([find_ripgrep(), "--files", "--sort=path"], cwd=desk.cwd)
    assert by_ripgrep.stdout.decode().splitlines() == seen
    assert (await desk.use("find", pattern="*")).text.splitlines() == seen


def means(pattern: str, path: str) -> bool:
    """The slow and plain meaning of `*`, `?` and `**`, to hold the fast one against."""
    if not pattern:
        return not path
    if pattern.startswith("**/"):
        return means(pattern[3:], path) or ("/" in path and means(pattern, path.partition("/")[2]))
    if pattern[0] == "*":
        return means(pattern[1:], path) or (path[:1] not in {"", "/"} and means(pattern, path[1:]))
    return (
        bool(path)
        and (pattern[0] == path[0] or (pattern[0] == "?" and path[0] != "/"))
        and means(pattern[1:], path[1:])
    )


SEGMENTS = st.lists(st.text("ab*?", min_size=1, max_size=5).map(lambda text: re.sub(r"\*+", "*", text)) | st.just("**"),
                    min_size=2, max_size=5)  # fmt: skip
NAMES = st.lists(st.text("ab", min_size=1, max_size=6), min_size=1, max_size=6)


@given(SEGMENTS.filter(lambda segments: segments[-1] != "**"), NAMES)
def test_fast_matching_means_the_same_as_slow_matching(segments, names):
    pattern, path = "/".join(segments), "/".join(names)
    assert glob(pattern)(path) == means(pattern, path)


async def test_without_ripgrep_only_grep_fails_and_says_what_else_there_is(tree):
    tree.ripgrep = None
    for tool, arguments in SEARCHES:
        assert (await tree.use(tool, **arguments)).kind == ("failed" if tool == "grep" else "success")
    assert (await tree.use("grep", pattern="needle")).text == (
        "grep does not work here, for ripgrep was not found; use find, code_search and read."
    )


async def test_no_user_setting_changes_a_result(tree, monkeypatch):
    config = tree.cwd.parent / "ripgreprc"
    config.write_text("--hidden\n--no-ignore\n--max-count=1\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    assert (await tree.use("find", pattern="*.log")).text == "keep.log"


async def test_a_name_that_is_not_utf8_does_not_break_a_listing(desk):
    (desk.cwd / "bad\udcff.txt").write_text("needle\n")
    assert (await desk.use("find", pattern="*")).text == "bad\ufffd.txt"
    assert (await desk.use("grep", pattern="needle")).text == "bad\ufffd.txt:1: needle"
    assert (await desk.use("ls")).text == "bad\ufffd.txt"


async def test_many_matches_stop_at_the_output_budget(desk):
    desk.put("a.txt", ("needle " + "x" * 280 + "\n") * 900)
    outcome = await desk.use("grep", pattern="needle", limit=5000)
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
        (r"\*.py", ["*.py"], ["a.py", "\\*.py"]),
        ("a/**/b/**/c", ["a/b/c", "a/x/b/y/b/z/c"], ["a/c", "a/b", "a/x/c"]),
        ("*a*b*", ["ab", "xaxbx"], ["ba", "a"]),
        ("[a&&b].py", ["&.py", "a.py", "b.py"], ["c.py"]),
        ("src/{a,b/**}", ["src/a", "src/b/c"], ["src/b", "b/c"]),
    ],
)
def test_a_glob_means_what_a_shell_means(pattern, matching, other):
    matches = glob(pattern)
    assert [path for path in [*matching, *other] if matches(path)] == matching
