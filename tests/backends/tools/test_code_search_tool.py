"""`code_search`: exact answers over a small pinned tree, and an index that stays true."""

import os

import anyio
import pytest
from anyio import from_thread, to_thread

from ohm_subagents._backends.in_process.tools.index import Index
from ohm_subagents._backends.in_process.tools.tokens import Words
from ohm_subagents._backends.in_process.tools.units import sources

pytestmark = pytest.mark.anyio

RETRY = '''"""Repeat a request that failed."""

import random

MAX_RETRIES = 3


class RetryPolicy:
    """How often and how long to wait."""

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
        "3. docs/guide.md:1-3  text — # Guide\n"
        "   3: How to configure the backoff."
    )


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


async def test_both_ways_of_listing_files_give_the_same_answer(project):
    by_ripgrep = await project.use("code_search", query="retry policy")
    project.python_walk = True
    assert (await project.use("code_search", query="retry policy")).text.startswith(by_ripgrep.text)


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


async def test_what_an_index_does_not_hold_is_said(project, monkeypatch):
    monkeypatch.setattr("ohm_subagents._backends.in_process.tools.index._MAX_TREE_BYTES", len(CACHE) + 10)
    project.put("a.py", "zebra = 1\n")
    outcome = await project.use("code_search", query="zebra", limit=1)
    assert outcome.text.startswith("1. a.py:1-1  constant zebra")
    assert outcome.text.endswith("[Not searched: files beyond the size of one index (3); give a path]")


async def test_a_file_that_cannot_be_read_is_said(project):
    project.fake_ripgrep(r"printf './src/cache.py\0./gone.py\0'")
    outcome = await project.use("code_search", query="evicts")
    assert outcome.text.startswith("1. src/cache.py:4-8  class Cache")
    assert outcome.text.endswith("[Some files or directories could not be read and are not part of this result]")


async def test_a_question_of_unbounded_length_is_refused(project):
    outcome = await project.use("code_search", query="zebra " * 1000)
    assert (outcome.kind, "at most 2000 characters" in outcome.text) == ("retried", True)


async def test_a_link_put_in_place_of_a_file_is_not_read(project):
    secret = project.cwd.parent / "secret.py"
    secret.write_text("def zebra(): ...\n")
    (project.cwd / "link.py").symlink_to(secret)
    project.fake_ripgrep(r"printf './link.py\0'")
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


async def test_only_changed_files_are_read_again(tmp_path):
    (tmp_path / "a.py").write_text("def zebra(): ...\n")
    (tmp_path / "b.py").write_text("def zebra(): ...\n")
    index = Index(tmp_path)

    def names() -> list[str]:
        index.refresh(["a.py", "b.py"])
        return [hit.unit.name for hit in index.search("zebra horse", 9)]

    assert await to_thread.run_sync(names) == ["zebra", "zebra"]
    status = (tmp_path / "a.py").stat()
    (tmp_path / "a.py").write_text("def horse(): ...\n")  # the same size and, below, the same time: taken as unchanged
    os.utime(tmp_path / "a.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert await to_thread.run_sync(names) == ["zebra", "zebra"]
    os.utime(tmp_path / "a.py", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert sorted(await to_thread.run_sync(names)) == ["horse", "zebra"]


async def test_the_trees_searched_last_share_their_index(project):
    await project.use("code_search", query="backoff")
    for number in range(6):
        project.put(f"part{number}/a.py", "backoff = 1\n")
        await project.use("code_search", query="backoff", path=f"part{number}")
    assert len(project.indexes._kept) == 4


def test_words_meet_in_their_stem():
    words = Words()
    assert {stem for word in ("truncation", "truncated", "truncate", "isTruncated") for stem in words.stems(word)} == {
        "truncat"
    }
    assert words.stems("Where is the HTTPConnectionPool_max-size2 handled?") == [
        "http",
        "connect",
        "pool",
        "max",
        "size",
        "2",
        "handl",
    ]
    assert words.stems("x" * 65) == []
    assert words.stems("größe") == ["größe"]


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


def test_long_python_is_cut_into_windows():
    windows = sources("a.py", "def f():\n    return 1\n" * 15_000)
    assert {source.unit.kind for source in windows} == {"text"}


def test_other_text_is_cut_into_windows():
    windows = sources("a.js", "\n".join(f"line {number}" for number in range(130)))
    assert [(source.unit.start, source.unit.end, source.unit.summary) for source in windows] == [
        (1, 60, "line 0"),
        (61, 120, "line 60"),
        (121, 130, "line 120"),
    ]
    assert sources("empty.py", "") == []


async def test_a_cancelled_reading_stops_and_keeps_what_it_has(tmp_path):
    paths = [f"f{number}.py" for number in range(3)]
    for path in paths:
        (tmp_path / path).write_text("def zebra(): ...\n")
    index = Index(tmp_path)
    stopped = anyio.Event()

    class CancelsAfterOne(list[str]):
        walks = 0

        def __iter__(self):
            self.walks += 1
            for path in list.__iter__(self):
                yield path
                if self.walks == 2:  # the first walk only names the files
                    from_thread.run_sync(scope.cancel)

    def read() -> None:
        try:
            index.refresh(CancelsAfterOne(paths))
        finally:
            from_thread.run_sync(stopped.set)

    with anyio.CancelScope() as scope:
        await to_thread.run_sync(read)
    assert scope.cancelled_caught
    assert stopped.is_set()
    assert [hit.path for hit in await to_thread.run_sync(index.search, "zebra", 9)] == ["f0.py"]


async def test_parallel_searches_of_one_tree_agree(project):
    answers: list[str] = []

    async def ask() -> None:
        answers.append((await project.use("code_search", query="backoff delay")).text)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(ask)
    assert len(set(answers)) == 1
    assert len(answers) == 8
