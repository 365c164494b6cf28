"""`code_search`: exact answers over a small pinned tree, and an index that stays true."""

import anyio
import pytest

from ohm_subagents.backends.in_process.search.code_index.index import CodeIndexes
from ohm_subagents.backends.in_process.search.code_index.units import sources
from ohm_subagents.backends.in_process.search.code_index.words import split
from ohm_subagents.backends.in_process.tools.walk import Walk

ENTER = Walk._enter
pytestmark = pytest.mark.anyio

RETRY = '''"""Repeat a request that failed."""

import random

MAX_RETRIES = 3


class RetryPolicy:
    """The number and the length of waits."""

    limit = MAX_RETRIES

    def backoff_delay(self, attempt):
        """Seconds to wait before the next attempt, doubled each time."""
        return 2**attempt


def send_with_retries(send, policy):
    """Call `send` until it succeeds or the policy gives up."""
    for attempt in range(policy.limit):
        if send():
            return attempt
    return None
'''
CACHE = '''"""Keep answers in memory."""


class Cache:
    """Evicts the entry that was used least recently."""

    def truncate_entries(self, size):
        return size
'''
TESTS = """from retry import RetryPolicy


def test_backoff_delay_is_doubled_each_attempt():
    assert RetryPolicy().backoff_delay(3) == 8
"""


@pytest.fixture
def project(desk):
    desk.put("src/retry.py", RETRY)
    desk.put("src/cache.py", CACHE)
    desk.put("tests/test_retry.py", TESTS)
    desk.put("docs/guide.md", "# Guide\n\nHow to configure the backoff.\n")
    return desk


async def test_the_answer_is_a_ranked_list_with_the_lines_that_matter(project):
    outcome = await project.use("code_search", query="Where is the backoff delay between attempts computed?", limit=3)
    assert outcome.text == (
        "1. src/retry.py:13-15  method RetryPolicy.backoff_delay — Seconds to wait before the next attempt, "
        "doubled each time.\n"
        "   13:     def backoff_delay(self, attempt):\n"
        '   14:         """Seconds to wait before the next attempt, doubled each time."""\n'
        "   15:         return 2**attempt\n"
        "2. tests/test_retry.py:4-5  function test_backoff_delay_is_doubled_each_attempt\n"
        "   4: def test_backoff_delay_is_doubled_each_attempt():\n"
        "   5:     assert RetryPolicy().backoff_delay(3) == 8\n"
        "3. src/retry.py:18-23  function send_with_retries — Call `send` until it succeeds or the policy gives up.\n"
        "   20:     for attempt in range(policy.limit):\n"
        "   22:             return attempt"
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("truncation of entries", "src/cache.py:7-8  method Cache.truncate_entries"),
        ("which entry is evicted", "src/cache.py:4-8  class Cache"),
        ("maxRetries", "src/retry.py:5-5  constant MAX_RETRIES"),
        ("answers in memory", "src/cache.py:1-3  module cache"),
        ("send until success", "src/retry.py:18-23  function send_with_retries"),
        ("which test covers the backoff delay", "tests/test_retry.py:4-5  function test_backoff"),
    ],
)
async def test_a_question_finds_its_place(project, query, first):
    assert (await project.use("code_search", query=query)).text.startswith(f"1. {first}")


async def test_a_path_narrows_the_search(project):
    outcome = await project.use("code_search", query="backoff", path="docs")
    assert outcome.text == "1. docs/guide.md:1-3  text — # Guide\n   3: How to configure the backoff."
    outcome = await project.use("code_search", query="backoff", path="src/retry.py", limit=1)
    assert outcome.text.startswith("1. src/retry.py:13-15")


async def test_nothing_found_is_said(project):
    assert (await project.use("code_search", query="zebra")).text == '[No place matches "zebra"]'
    assert (await project.use("code_search", query="where is the")).text == '[No place matches "where is the"]'


async def test_a_missing_path_is_one_sentence(project):
    outcome = await project.use("code_search", query="x", path="absent")
    assert (outcome.kind, outcome.text) == ("failed", 'There is no file or directory "absent".')


async def test_ignored_binary_and_huge_files_are_not_searched(project):
    (project.cwd / ".git").mkdir()
    project.put(".gitignore", "ignored/\n")
    project.put("ignored/zebra.py", "zebra = 1\n")
    project.put("zebra.bin", b"zebra\0")
    project.put("zebra.txt", "zebra\n" * 100_000)
    assert (await project.use("code_search", query="zebra")).text == (
        '[No place matches "zebra"]\n\n[Not searched: files over 512000 bytes (1); use grep for them]'
    )


async def test_what_is_hidden_is_searched_when_it_is_named_and_never_kept(project, tmp_path):
    project.indexes = CodeIndexes(tmp_path / "kept")
    (project.cwd / ".git").mkdir()
    project.put(".gitignore", "ignored/\n")
    project.put("ignored/secret.py", "zebra_token = 1\n")
    assert "ignored/secret.py:1-1" in (await project.use("code_search", query="zebra token", path="ignored")).text
    assert not (tmp_path / "kept").exists()
    assert "src/retry.py" in (await project.use("code_search", query="retry policy", path="src")).text
    (kept,) = (tmp_path / "kept").glob("*.sqlite")
    assert b"zebra" not in kept.read_bytes()


async def test_a_part_of_a_tree_with_too_many_files_is_kept_and_the_rest_is_not_looked_at(desk, tmp_path, monkeypatch):
    monkeypatch.setattr("ohm_subagents.backends.in_process.search.tool._MAX_FILES", 3)
    desk.indexes = CodeIndexes(tmp_path / "kept")
    for part in ("first", "last", "last_not_asked"):
        for number in range(3):
            desk.put(f"{part}/m{number}.py", f"def zebra_{part}(): ...\n")
    opened = []
    monkeypatch.setattr(Walk, "_enter", lambda *given: opened.append(given[3]) or ENTER(*given))
    assert "last/m0.py:1-1" in (await desk.use("code_search", query="zebra", path="last")).text
    assert opened == ["", "last/"]
    assert len(list((tmp_path / "kept").glob("*.sqlite"))) == 1


async def test_what_an_index_does_not_hold_is_said(project, monkeypatch):
    monkeypatch.setattr("ohm_subagents.backends.in_process.search.code_index.index._MAX_TREE_BYTES", len(CACHE) + 10)
    project.put("a.py", "zebra = 1\n")
    outcome = await project.use("code_search", query="zebra", limit=1)
    assert outcome.text.startswith("1. a.py:1-1  constant zebra")
    assert outcome.text.endswith("[Not searched: files beyond the size of one index (3); give a path]")


async def test_a_file_that_cannot_be_read_is_said(project, once_listed):
    once_listed(project.put("gone.py", "evicts = 1\n").unlink)
    outcome = await project.use("code_search", query="evicts")
    assert outcome.text.startswith("1. src/cache.py:4-8  class Cache")
    assert outcome.text.endswith("[Some files or directories could not be read and are not part of this result]")


async def test_a_question_of_unbounded_length_is_refused(project):
    outcome = await project.use("code_search", query="zebra " * 1000)
    assert (outcome.kind, "at most 2000 characters" in outcome.text) == ("retried", True)


async def test_a_link_put_in_place_of_a_file_is_not_read(project, once_listed):
    secret = project.cwd.parent / "secret.py"
    secret.write_text("def zebra(): ...\n")
    file = project.put("link.py", "")

    def swap():
        file.unlink()
        file.symlink_to(secret)

    once_listed(swap)
    assert "zebra()" not in (await project.use("code_search", query="zebra")).text


async def test_python_that_does_not_parse_is_searched_as_text(project):
    project.put("src/broken.py", "def zebra(:\n    pass\n")
    outcome = await project.use("code_search", query="zebra")
    assert outcome.text == "1. src/broken.py:1-2  text — def zebra(:\n   1: def zebra(:"


async def test_a_changed_file_is_read_anew_and_a_removed_one_forgotten(project):
    assert "zebra" not in (await project.use("code_search", query="zebra")).text.partition("]")[2]
    project.put("src/cache.py", "def zebra():\n    return 1\n")
    assert (await project.use("code_search", query="zebra")).text.startswith("1. src/cache.py:1-2  function zebra")
    (project.cwd / "src/cache.py").unlink()
    assert (await project.use("code_search", query="zebra")).text == '[No place matches "zebra"]'


def test_identifiers_are_split_and_words_without_a_topic_left_out():
    assert list(split("Where is the HTTPConnectionPool_max-size2 handled?")) == [
        "http",
        "connection",
        "pool",
        "max",
        "size",
        "2",
        "handled",
    ]
    assert list(split("x" * 65)) == []
    assert list(split("Größe")) == ["größe"]


@pytest.mark.sample(5)
@pytest.mark.parametrize("asked", ["truncation", "truncated", "truncate", "isTruncated", "TRUNCATE_ALL"])
async def test_words_meet_in_their_stem(project, asked):
    assert (await project.use("code_search", query=asked)).text.startswith("1. src/cache.py:7-8")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Where are command line arguments parsed?", "cli.py:1-2  function parse_cmd_args"),
        ("the max size of a message", "limits.py:1-1  constant MAXIMUM_MESSAGE_SIZE"),
    ],
)
async def test_a_word_finds_what_programmers_write_for_it(desk, query, first):
    desk.put("cli.py", "def parse_cmd_args(line):\n    return line.split()\n")
    desk.put("limits.py", "MAXIMUM_MESSAGE_SIZE = 9\n")
    desk.put("other.py", "def parse_line(line):\n    return line\n")
    assert (await desk.use("code_search", query=query)).text.startswith(f"1. {first}")


@pytest.fixture
def told(desk):
    """A project that says three times what it does, and does it once."""
    prose = "Retries are counted: where a request is retried, the retries are counted again.\n"
    desk.put("CHANGES.rst", prose)
    desk.put("docs/retries.md", prose)
    desk.put("tests/test_client.py", "def test_retries_are_counted():\n    assert counted_retries() == 1\n")
    desk.put("src/client.py", "def send(request):\n    retries = 0\n    retries += 1\n    return request, retries\n")
    return desk


def paths(report):
    return [row.split(" ")[1].partition(":")[0] for row in report.splitlines() if row[:1].isdigit()]


async def test_code_comes_before_what_is_told_about_it_and_changelogs_come_last(told):
    report = (await told.use("code_search", query="Where are retries counted?")).text
    assert paths(report)[-2:] == ["docs/retries.md", "CHANGES.rst"]
    assert set(paths(report)[:2]) == {"src/client.py", "tests/test_client.py"}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Where is it documented how retries are counted?", "docs/retries.md"),
        ("Which release changes how retries are counted?", "CHANGES.rst"),
        ("Which test covers the counted retries?", "tests/test_client.py"),
    ],
)
async def test_who_asks_for_documents_history_or_tests_gets_them(told, query, first):
    assert paths((await told.use("code_search", query=query)).text)[0] == first


def test_units_are_what_a_reader_would_name():
    text = '''"""Doc."""
from typing import overload

__all__ = ["f"]
LIMIT: int = 3
a = b = 1


@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
@cached
async def f(x):
    """Do.

    More.
    """
    def inner(): ...
    return x


class Outer:
    field = 1

    class Inner:
        def m(self): ...


if LIMIT:
    def conditional(): ...
else:
    OTHER = 1
try:
    FIRST = 1
except ImportError:
    SECOND = 2
'''
    units = [
        (s.unit.kind, s.unit.scope, s.unit.name, s.unit.start, s.unit.end) for s in sources("pkg/__init__.py", text)
    ]
    assert units == [
        ("module", "", "pkg", 1, 4),
        ("constant", "", "LIMIT", 5, 5),
        ("function", "", "f", 13, 20),
        ("class", "", "Outer", 23, 27),
        ("class", "Outer", "Inner", 26, 27),
        ("method", "Outer.Inner", "m", 27, 27),
        ("function", "", "conditional", 31, 31),
        ("constant", "", "OTHER", 33, 33),
        ("constant", "", "FIRST", 35, 35),
        ("constant", "", "SECOND", 37, 37),
    ]
    bodies = {source.unit.name: source.body for source in sources("pkg/__init__.py", text)}
    assert "typing" not in "".join(bodies.values())
    assert "field = 1" in bodies["Outer"]
    assert "def m" not in bodies["Outer"]
    assert "a = b = 1" in bodies["pkg"]


@pytest.mark.sample(5)
@pytest.mark.parametrize("no_end", ["\f", "\v", "\x1c", "\x85", "\u2028"])
@pytest.mark.parametrize("end", ["\n", *(pytest.param(end, marks=pytest.mark.slow) for end in ("\r\n", "\r"))])
async def test_lines_are_counted_as_python_counts_them(desk, no_end, end):
    mark = no_end if no_end == "\f" else ""
    desk.put("a.py", end.join([f'X = "a{no_end}b"', mark, mark, "def zebra():", "    return horse", ""]))
    outcome = await desk.use("code_search", query="zebra horse", limit=1)
    assert outcome.text == "1. a.py:4-5  function zebra\n   4: def zebra():\n   5:     return horse"


def test_other_text_is_cut_into_windows():
    windows = sources("a.js", "\n".join(f"line {number}" for number in range(130)))
    assert [(source.unit.start, source.unit.end, source.unit.summary) for source in windows] == [
        (1, 60, "line 0"),
        (61, 120, "line 60"),
        (121, 130, "line 120"),
    ]
    assert sources("empty.py", "") == []


@pytest.mark.slow
async def test_parallel_searches_of_one_tree_agree(project):
    answers: list[str] = []

    async def ask() -> None:
        answers.append((await project.use("code_search", query="backoff delay")).text)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(ask)
    assert len(set(answers)) == 1
    assert len(answers) == 8
