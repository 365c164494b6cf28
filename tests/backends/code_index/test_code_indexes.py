"""The index of `code_search` on disk: kept, private, bounded, true, shared by processes, thrown away when broken."""

import os
import sqlite3
import stat
import sys
import tempfile
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from ohm_subagents.backends.in_process.search.code_index import build as builder
from ohm_subagents.backends.in_process.search.code_index.build import Order, build
from ohm_subagents.backends.in_process.search.code_index.cache import index_file, locked, prune
from ohm_subagents.backends.in_process.search.code_index.index import CodeIndexes, Question
from ohm_subagents.backends.in_process.search.code_index.ranking import Ranking

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as the backend that has these indexes


@dataclass
class Tree:
    """A tree, and the directory that keeps its index."""

    root: Path
    kept: Path

    def put(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def rewrite_unnoticed(self, path: str, text: str) -> None:
        """Change a file so that its size and its time of change are the same: nobody who looks reads it again."""
        file = self.root / path
        status = file.stat()
        assert len(text) == status.st_size
        file.write_text(text)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    async def names(
        self,
        words: str,
        indexes: CodeIndexes | None = None,
        paths: list[str] | None = None,
        start: str = ".",
        *,
        may_keep: bool = True,
    ) -> list[str]:
        """Return what is found, by an instance of its own as another process has it."""
        listed = sorted(str(file.relative_to(self.root)) for file in self.root.rglob("*") if file.is_file())
        question = Question(
            root=self.root,
            start=start,
            paths=listed if paths is None else paths,
            words=words,
            limit=9,
            lines=3,
            may_keep=may_keep,
        )
        found = await (indexes or CodeIndexes(self.kept)).answer(question)
        return [hit.unit.name for hit, _ in found.places]

    @property
    def file(self) -> Path:
        return index_file(self.kept, self.root)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "tree", tmp_path / "cache" / "code-search")
    made.put("a.py", "def zebra(): ...\n")
    made.put("b.py", "def zebra(): ...\n")
    return made


async def test_what_was_read_is_kept_for_other_processes(tree):
    assert await tree.names("zebra horse") == ["zebra", "zebra"]
    tree.rewrite_unnoticed("a.py", "def horse(): ...\n")
    assert await tree.names("zebra horse") == ["zebra", "zebra"]


async def test_a_file_with_another_time_or_size_is_read_again(tree):
    await tree.names("zebra")
    tree.rewrite_unnoticed("a.py", "def horse(): ...\n")
    os.utime(tree.root / "a.py", ns=(1, 1))
    tree.put("b.py", "def elephant(): ...\n")
    assert sorted(await tree.names("zebra horse elephant")) == ["elephant", "horse"]


@pytest.mark.parametrize("executable", [sys.executable, ""], ids=["process", "thread"])
async def test_a_file_that_can_be_read_now_is_read_though_it_has_not_changed(tree, monkeypatch, executable):
    # Whoever runs this may read every file: so a link, which is not read, is replaced by a file that looks the same.
    monkeypatch.setattr(sys, "executable", executable)
    text = "def zebra(): ...\n"
    link = tree.root / "a.py"
    link.unlink()
    link.symlink_to("x" * len(text))
    os.utime(link, ns=(7, 7), follow_symlinks=False)
    assert await tree.names("zebra", paths=["a.py", "b.py"]) == ["zebra"]
    link.unlink()
    os.utime(tree.put("a.py", text), ns=(7, 7))
    assert await tree.names("zebra", paths=["a.py", "b.py"]) == ["zebra", "zebra"]


async def test_a_file_that_cannot_be_read_is_not_tried_by_a_reader_again(tree, monkeypatch):
    (tree.root / "a.py").unlink()
    (tree.root / "a.py").symlink_to("b.py")
    assert await tree.names("zebra", paths=["a.py", "b.py"]) == ["zebra"]
    monkeypatch.setattr(CodeIndexes, "_carry_out", None)
    assert await tree.names("zebra", paths=["a.py", "b.py"]) == ["zebra"]


async def test_nothing_is_left_of_a_file_that_is_gone_or_hidden(tree):
    tree.put("secret.py", "def hunter2_password(): ...\n")
    assert await tree.names("password") == ["hunter2_password"]
    assert await tree.names("password", paths=["a.py", "b.py"]) == []
    assert b"hunter" not in tree.file.read_bytes()
    assert b"passwor" not in tree.file.read_bytes()


async def test_a_part_of_a_tree_is_asked_without_forgetting_the_rest(tree):
    tree.put("part/c.py", "def zebra_of_the_part(): ...\n")
    await tree.names("zebra")
    assert await tree.names("zebra", paths=["part/c.py"], start="part") == ["zebra_of_the_part"]
    tree.rewrite_unnoticed("a.py", "def horse(): ...\n")
    assert "horse" not in await tree.names("horse")  # it was not read again, so it had not been forgotten


async def test_an_index_is_for_its_owner_alone(tree):
    former = os.umask(0)
    try:
        await tree.names("zebra")
    finally:
        os.umask(former)
    modes = {path.name[33:]: stat.S_IMODE(path.stat().st_mode) for path in tree.kept.iterdir()}
    assert modes == {"2.sqlite": 0o600, "2.lock": 0o600}
    assert stat.S_IMODE(tree.kept.stat().st_mode) == 0o700


async def test_a_directory_that_others_may_read_is_closed_to_them(tree):
    tree.kept.mkdir(parents=True)
    tree.kept.chmod(0o755)
    await tree.names("zebra")
    assert stat.S_IMODE(tree.kept.stat().st_mode) == 0o700


async def test_a_link_in_place_of_the_directory_is_not_followed(tree, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    tree.kept.parent.mkdir()
    tree.kept.symlink_to(tmp_path / "elsewhere")
    assert await tree.names("zebra") == ["zebra", "zebra"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_link_above_the_directory_is_not_followed(tree, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    tree.kept.parent.symlink_to(tmp_path / "elsewhere")
    assert await tree.names("zebra") == ["zebra", "zebra"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_nobody_else_may_write_above_the_directory(tree):
    tree.kept.parent.mkdir()
    tree.kept.parent.chmod(0o777)
    await tree.names("zebra")
    assert stat.S_IMODE(tree.kept.parent.stat().st_mode) == 0o755


@pytest.mark.parametrize("place", ["kept", "parent"])
async def test_a_directory_of_another_user_is_not_used(tree, monkeypatch, place):
    tree.kept.mkdir(parents=True)
    theirs = tree.kept if place == "kept" else tree.kept.parent
    real = Path.lstat

    def of_another_user(path: Path) -> os.stat_result:
        status = real(path)
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:])) if path == theirs else status

    monkeypatch.setattr(Path, "lstat", of_another_user)
    assert await tree.names("zebra") == ["zebra", "zebra"]
    assert list(tree.kept.iterdir()) == []


async def test_a_link_in_place_of_an_index_is_replaced_and_not_followed(tree, tmp_path):
    (tmp_path / "elsewhere").write_text("")
    file = tree.file
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    assert await tree.names("zebra") == ["zebra", "zebra"]
    assert (tmp_path / "elsewhere").read_text() == ""
    assert stat.S_ISREG(file.lstat().st_mode)


async def test_where_nothing_can_be_kept_the_search_works_and_keeps_it_while_it_lives(tree, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tree.kept.parent.write_text("no directory")
    indexes = CodeIndexes(tree.kept)
    assert await tree.names("zebra horse", indexes) == ["zebra", "zebra"]
    tree.rewrite_unnoticed("a.py", "def horse(): ...\n")
    assert await tree.names("zebra horse", indexes) == ["zebra", "zebra"]
    (temporary,) = tmp_path.glob("ohm-code-search-*")
    assert stat.S_IMODE(temporary.stat().st_mode) == 0o700
    indexes.close()
    assert not temporary.exists()


async def test_trees_that_are_asked_at_once_share_the_temporary_directory(tree, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    real = tempfile.mkdtemp
    second_waits = threading.Event()

    class Watched:
        def __init__(self) -> None:
            self.lock = threading.Lock()

        def __enter__(self) -> None:
            if not self.lock.acquire(blocking=False):
                second_waits.set()
                self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            self.lock.release()

    def slow(*arguments: Any, **options: Any) -> str:
        assert second_waits.wait(60)
        return real(*arguments, **options)

    monkeypatch.setattr("ohm_subagents.backends.in_process.search.code_index.index.Lock", Watched)
    monkeypatch.setattr(tempfile, "mkdtemp", slow)
    other = Tree(tmp_path / "other", tree.kept)
    other.put("a.py", "def zebra(): ...\n")
    indexes = CodeIndexes()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tree.names, "zebra", indexes)
        tasks.start_soon(other.names, "zebra", indexes)
    indexes.close()
    assert list(tmp_path.glob("ohm-code-search-*")) == []


async def test_a_cache_that_cannot_be_used_is_logged_once(tree, caplog):
    tree.kept.parent.write_text("no directory")
    indexes = CodeIndexes(tree.kept)
    for _ in range(2):
        assert await tree.names("zebra", indexes) == ["zebra", "zebra"]
    (line,) = caplog.messages
    assert line.startswith("code_search cannot keep what it has read: ")
    assert str(tree.kept.parent) in line


async def test_who_wants_no_cache_is_not_told_that_there_is_none(tree, caplog):
    assert await tree.names("zebra", CodeIndexes(Path(os.devnull, "code-search"))) == ["zebra", "zebra"]
    assert caplog.messages == []


async def test_what_may_not_be_kept_gets_to_no_disk(tree, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    indexes = CodeIndexes(tree.kept)
    assert await tree.names("zebra", indexes, may_keep=False) == ["zebra", "zebra"]
    tree.put("a.py", "def horse(): ...\n\n")
    assert await tree.names("horse", indexes, ["a.py", "gone.py"], may_keep=False) == ["horse"]
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not tree.kept.exists()


def tables_of_another_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")


def a_table_less(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE units")


def pages_of_nonsense(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(data)


def words_of_nonsense(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE words_data SET block = x'0102030405'")


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b"no database at all, but long enough to be taken for one" * 100),
        lambda file: os.truncate(file, 5000),
        lambda file: os.truncate(file, 0),
        tables_of_another_version,
        a_table_less,
        pages_of_nonsense,
        words_of_nonsense,
    ],
    ids=["other file", "cut", "empty", "another version", "no table", "pages", "words"],
)
async def test_a_damaged_index_is_thrown_away_and_made_anew(tree, damage):
    await tree.names("zebra")
    damage(tree.file)
    tree.rewrite_unnoticed("a.py", "def horse(): ...\n")
    assert sorted(await tree.names("zebra horse")) == ["horse", "zebra"]
    assert sorted(await tree.names("zebra horse")) == ["horse", "zebra"]


async def test_texts_that_cannot_be_read_back_are_damage_too(tree):
    await tree.names("zebra")
    with closing(sqlite3.connect(tree.file)) as connection, connection:
        connection.execute("UPDATE files SET texts = x'00'")
    tree.put("a.py", "def horse(): ...\n\n")
    assert sorted(await tree.names("zebra horse")) == ["horse", "zebra"]


@pytest.mark.slow
async def test_many_processes_at_once_share_one_index(tree):
    for number in range(60):
        tree.put(f"many/m{number}.py", f"def zebra_{number}(): ...\n" * 20)
    answers: list[list[str]] = []

    async def ask() -> None:
        answers.append(await tree.names("zebra", CodeIndexes(tree.kept)))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(ask)
    assert answers == [answers[0]] * 4
    with closing(sqlite3.connect(tree.file)) as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT path) FROM files").fetchone() == (62, 62)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_questions_about_a_tree_that_has_not_changed_are_answered_side_by_side(tree, monkeypatch):
    indexes = CodeIndexes(tree.kept)
    await tree.names("zebra", indexes)
    both = threading.Barrier(2, timeout=60)
    real = Ranking.hits

    def together(*arguments: Any) -> Any:
        both.wait()
        return real(*arguments)

    monkeypatch.setattr(Ranking, "hits", together)
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(tree.names, "zebra", indexes)


async def test_what_one_question_reads_the_others_do_not(tree, monkeypatch):
    read: list[Order] = []

    def counted(order: Order) -> None:
        read.append(order)
        build(order)

    monkeypatch.setattr(sys, "executable", "")  # in this process, where it can be counted
    monkeypatch.setattr("ohm_subagents.backends.in_process.search.code_index.index.build", counted)
    indexes = CodeIndexes(tree.kept)
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(tree.names, "zebra", indexes)
    assert len(read) == 1


async def test_an_answer_is_of_one_moment_whoever_writes_meanwhile(tree, monkeypatch):
    indexes = CodeIndexes(tree.kept)
    await tree.names("zebra", indexes)
    real = Ranking.hits

    def written(*arguments: Any) -> Any:
        other = sqlite3.connect(tree.file, timeout=0, isolation_level=None)
        with closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("DELETE FROM units")
        return real(*arguments)

    monkeypatch.setattr(Ranking, "hits", written)
    assert await tree.names("zebra", indexes) == ["zebra", "zebra"]


def order(tree: Tree, *paths: str, owner: int | None = None) -> Order:
    return Order(
        directory=str(tree.kept),
        root=str(tree.root),
        changed=paths,
        gone=(),
        max_file_bytes=1000,
        broken=0,
        owner=os.getpid() if owner is None else owner,
    )


def read_paths(tree: Tree) -> list[str]:
    with closing(sqlite3.connect(tree.file)) as connection:
        return [path for (path,) in connection.execute("SELECT path FROM files ORDER BY path")]


def test_a_builder_that_is_killed_has_kept_what_it_has_read(tree, monkeypatch):
    real = builder.sources
    monkeypatch.setattr(builder, "_BATCH_BYTES", 1)

    def dies_at_b(path: str, text: str) -> object:
        if path == "b.py":
            raise KeyboardInterrupt
        return real(path, text)

    monkeypatch.setattr(builder, "sources", dies_at_b)
    with pytest.raises(KeyboardInterrupt):
        build(order(tree, "a.py", "b.py"))
    assert read_paths(tree) == ["a.py"]


def test_the_size_of_a_file_is_looked_at_once_however_many_there_are_in_a_batch(monkeypatch):
    asked: list[int] = []

    class Read:
        @property
        def status(self) -> "Read":
            return self

        @property
        def st_size(self) -> int:
            asked.append(1)
            return 10

    monkeypatch.setattr(builder, "_BATCH_BYTES", 300)
    batches = list(builder._batches(Read() for _ in range(100)))
    assert [len(batch) for batch in batches] == [30, 30, 30, 10]
    assert len(asked) == 100


def test_a_builder_for_which_nobody_waits_any_more_ends(tree):
    build(order(tree, "a.py", "b.py", owner=2**22 + 1))
    assert read_paths(tree) == []


def test_what_another_builder_has_read_meanwhile_is_not_read_again(tree):
    build(order(tree, "a.py"))
    tree.rewrite_unnoticed("a.py", "def horse(): ...\n")
    build(order(tree, "a.py", "b.py"))
    with closing(sqlite3.connect(tree.file)) as connection:
        assert connection.execute("SELECT name FROM units").fetchall() == [("zebra",), ("zebra",)]


async def test_a_cancelled_question_ends_its_builder_and_the_next_one_is_answered(tree, tmp_path, monkeypatch):
    indexes = CodeIndexes(tree.kept)
    os.mkfifo(tmp_path / "life")
    hangs = tmp_path / "python"
    hangs.write_text(f"#!/bin/sh\nexec 3> '{tmp_path}/life'\necho begun >&3\nexec tail -f /dev/null\n")
    hangs.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(hangs))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tree.names, "zebra", indexes)
            async with await anyio.open_file(tmp_path / "life") as life:
                assert await life.readline() == "begun\n"
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    assert await life.read() == "", "it ends, and with it the pipe"
    assert await tree.names("zebra", indexes) == ["zebra", "zebra"]


async def test_files_are_parsed_in_another_process(tree, monkeypatch):
    def unused(*_: object) -> None:
        pytest.fail("parsed in this process")

    monkeypatch.setattr(builder, "sources", unused)
    assert await tree.names("zebra") == ["zebra", "zebra"]


async def test_a_program_that_has_python_inside_parses_in_a_thread(tree, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/usr/sbin/uwsgi")
    assert await tree.names("zebra") == ["zebra", "zebra"]


def python_that(does: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this shell command stand for the interpreter that is started."""
    program = place / "python3"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


@pytest.mark.sample(4)
@pytest.mark.parametrize("order", ["small", "longer than a pipe"])
@pytest.mark.parametrize("does", ["echo 'no libpython.so' >&2; exit 127", "kill -9 $$"], ids=["no library", "killed"])
async def test_where_no_reader_starts_a_thread_reads_and_the_log_says_so_once(
    tree, tmp_path, monkeypatch, caplog, does, order
):
    python_that(does, tmp_path, monkeypatch)
    paths = ["a.py", "b.py", *([f"{'long' * 40}{number}.py" for number in range(2000)] if order != "small" else [])]
    for path in paths[2:]:
        tree.put(path, "")
    indexes = CodeIndexes(tree.kept)
    assert await tree.names("zebra", indexes, paths) == ["zebra", "zebra"]
    tree.put("a.py", "def horse(): ...\n\n")
    assert sorted(await tree.names("zebra horse", indexes, paths)) == ["horse", "zebra"]
    (line,) = caplog.messages
    assert line.startswith("code_search reads in a thread")


async def test_an_interpreter_that_is_gone_is_not_needed(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    assert await tree.names("zebra") == ["zebra", "zebra"]


@pytest.mark.parametrize("end", ["kill -SEGV $$", "kill -XCPU $$", "kill -ALRM $$", "echo MemoryError >&2; exit 1"])
async def test_what_a_reader_cannot_bear_is_not_read_by_this_process(tree, tmp_path, monkeypatch, end):
    python_that(f"cat > /dev/null; {end}", tmp_path, monkeypatch)
    with pytest.raises(RuntimeError, match="it ended with"):
        await tree.names("zebra")


async def test_a_reader_has_limits_of_memory_and_time_and_finds_its_shared_library(tree, tmp_path, monkeypatch):
    seen = tmp_path / "seen"
    python_that(f"echo $LD_LIBRARY_PATH $6 $7 > {seen}; exec {sys.executable} $*", tmp_path, monkeypatch)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/python/lib")
    assert await tree.names("zebra") == ["zebra", "zebra"]
    assert seen.read_text() == f"/opt/python/lib {2 << 30} 600\n"


@pytest.mark.sample(6)
@pytest.mark.parametrize("module", ["ast", "json", "sqlite3", "zlib", "sitecustomize", "ohm_subagents"])
async def test_nothing_of_the_tree_is_imported(tree, monkeypatch, module):
    tree.put(f"{module}.py", f"open({str(tree.root / 'imported')!r}, 'w')\n")
    monkeypatch.chdir(tree.root)
    monkeypatch.syspath_prepend(str(tree.root))
    monkeypatch.setenv("PYTHONPATH", str(tree.root))
    assert "zebra" in await tree.names("zebra")
    assert not (tree.root / "imported").exists()


def test_what_was_used_longest_ago_goes_first_and_the_newest_stays(tmp_path):
    for name, size, used in (("old", 60, 1), ("middle", 60, 2), ("own", 500, 0), ("new", 60, 3)):
        file = tmp_path / f"{name}-1.sqlite"
        file.write_bytes(b"x" * size)
        os.utime(file, (used, used))
        (tmp_path / f"{name}-1.lock").touch()
    prune(tmp_path, tmp_path / "own-1.sqlite", limit=620)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "middle-1.lock",
        "middle-1.sqlite",
        "new-1.lock",
        "new-1.sqlite",
        "old-1.lock",
        "own-1.lock",
        "own-1.sqlite",
    ]


def test_an_index_that_is_being_written_is_not_thrown_away(tmp_path):
    for name in ("busy", "idle", "own"):
        (tmp_path / f"{name}-1.sqlite").write_bytes(b"x")
    with locked(tmp_path / "busy-1.sqlite"):
        prune(tmp_path, tmp_path / "own-1.sqlite", limit=0)
        with pytest.raises(BlockingIOError), locked(tmp_path / "busy-1.sqlite", waits=False):
            pass
    assert sorted(path.name for path in tmp_path.glob("*.sqlite")) == ["busy-1.sqlite", "own-1.sqlite"]


async def test_the_indexes_together_are_bounded(tree, monkeypatch):
    monkeypatch.setattr("ohm_subagents.backends.in_process.search.code_index.cache.MAX_BYTES", 1)
    monkeypatch.setattr(sys, "executable", "")  # in this process, which knows the limit
    other = Tree(tree.root.parent / "other", tree.kept)
    other.put("a.py", "def horse(): ...\n")
    await other.names("horse")
    await tree.names("zebra")
    assert [path.name for path in tree.kept.glob("*.sqlite")] == [tree.file.name]


async def test_an_answer_of_the_index_makes_it_the_newest(tree):
    await tree.names("zebra")
    os.utime(tree.file, (1, 1))
    await tree.names("zebra")
    assert tree.file.stat().st_mtime > 1
