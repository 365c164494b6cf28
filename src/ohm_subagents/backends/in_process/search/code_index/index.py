"""The indexes of the trees that are searched: kept on disk, brought up to date before each answer."""

import json
import logging
import os
import shutil
import signal
import sqlite3
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Final, TypeAlias

import anyio
from anyio import from_thread, to_thread

from ohm_subagents.backends.in_process.regular_file import open_file, read_file
from ohm_subagents.backends.in_process.search.code_index.build import UNUSABLE, Order, build, read_into, stamps, unread
from ohm_subagents.backends.in_process.search.code_index.cache import index_file
from ohm_subagents.backends.in_process.search.code_index.database import in_memory, is_damage, opened
from ohm_subagents.backends.in_process.search.code_index.ranking import Hit, Ranking
from ohm_subagents.backends.in_process.search.code_index.units import lines
from ohm_subagents.shell import ProcessLimits, has_interpreter, run_apart

logger = logging.getLogger("ohm_subagents")

MAX_FILE_BYTES: Final = 512_000
_MAX_TREE_BYTES: Final = 100_000_000
_ROUNDS: Final = 3  # of reading what has changed, for a tree that changes while it is read
# What it has read would end this process too, or take as long.
_CRASHES: Final = frozenset({-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGXCPU, -signal.SIGALRM})
_LIMITS: Final = ProcessLimits(memory=2 << 30, seconds=600)

_Stamps: TypeAlias = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Count the files that are not in the index: too large, beyond what one index holds, or unreadable."""

    large: int = 0
    beyond: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best places, each with its best lines, and what was not looked at."""

    places: Sequence[tuple[Hit, Sequence[tuple[int, str]]]]
    left_out: LeftOut


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`paths` are the files below `start` that may be searched; nothing of them gets to a disk unless `may_keep`."""

    root: Path
    start: str
    paths: Sequence[str]
    words: str
    limit: int
    lines: int
    may_keep: bool = True


@dataclass(slots=True, weakref_slot=True)
class _Reading:
    """The turn to read a tree, and the count of the readings."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    times: int = 0


class CodeIndexes:
    """Indexes in `directory`; where there is none, or it cannot be used, in a temporary one. Subagents may share them.

    A file is read again when its size or its time of change is another one, or when it could not be read.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._temporary: Path | None = None
        self._remove: Callable[[], object] | None = None
        self._one_at_a_time = Lock()  # thread by thread
        self._warned: set[str] = set()
        self._readings: weakref.WeakValueDictionary[Path, _Reading] = weakref.WeakValueDictionary()

    def close(self) -> None:
        """Remove what could not be kept."""
        if self._remove is not None:
            self._remove()
        self._remove = self._temporary = None

    async def answer(self, question: Question) -> Found:
        """Bring the index of the tree up to date, and ask it."""
        if not question.may_keep:
            return await to_thread.run_sync(_answer_in_memory, question, abandon_on_cancel=True)
        directory = self._directory
        if directory is not None:
            try:
                return await self._answer(question, directory)
            except (OSError, sqlite3.Error) as error:
                if Path(os.devnull) not in directory.parents:  # there, nothing is to be kept
                    self._warn("code_search cannot keep what it has read: %s", str(error))
        return await self._answer(question, await to_thread.run_sync(self._elsewhere))

    def _elsewhere(self) -> Path:
        with self._one_at_a_time:
            if self._temporary is None:
                self._temporary = Path(tempfile.mkdtemp(prefix="ohm-code-search-"))
                self._remove = weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
            return self._temporary / "code-search"

    async def _answer(self, question: Question, directory: Path) -> Found:
        """Ask, as soon as everything is read that has to be; questions wait for each other's reading only."""
        reading = self._readings.setdefault(question.root, _Reading())
        for left in range(_ROUNDS, -1, -1):
            times = reading.times
            seen = await to_thread.run_sync(_ask, question, directory, not left, abandon_on_cancel=True)
            if isinstance(seen, Found):
                return seen
            order: Order | None = seen
            async with reading.lock:
                if reading.times != times:  # by another question meanwhile
                    order = await to_thread.run_sync(_due, question, directory, abandon_on_cancel=True)
                if order is not None:
                    await self._carry_out(order)
                    reading.times += 1
        unsettled = f"the index of '{question.root}' does not hold"
        raise sqlite3.DatabaseError(unsettled)

    async def _carry_out(self, order: Order) -> None:
        if has_interpreter():
            trouble = await _read_apart(order)
            if trouble is None:
                return
            self._warn("code_search reads in a thread, as no process can do it: %s", trouble)
        await to_thread.run_sync(build, order, abandon_on_cancel=True)

    def _warn(self, message: str, reason: str) -> None:
        """Log it, the first time."""
        if message not in self._warned:
            self._warned.add(message)
            logger.warning(message, reason)


def _wanted(question: Question) -> tuple[_Stamps, LeftOut]:
    """Size and time of change of each file that an index has to hold, and what it does not hold."""
    wanted: dict[str, tuple[int, int]] = {}
    large = beyond = missing = 0
    room = _MAX_TREE_BYTES
    for path in question.paths:
        from_thread.check_cancelled()
        try:
            status = (question.root / path).lstat()
        except (OSError, ValueError):
            missing += 1
            continue
        if status.st_size > MAX_FILE_BYTES:
            large += 1
        elif status.st_size > room:
            beyond += 1
        else:
            room -= status.st_size
            wanted[path] = (status.st_size, status.st_mtime_ns)
    return wanted, LeftOut(large=large, beyond=beyond, unread=missing)


def _due(question: Question, directory: Path) -> Order | None:
    """List what has to be read before the question can be asked; empty when that is done."""
    wanted, _ = _wanted(question)
    try:
        with opened(index_file(directory, question.root)) as connection:
            return _order(question, directory, wanted, connection)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return None  # the next question sees it too


def _ask(question: Question, directory: Path, is_last: bool) -> Found | Order:  # noqa: FBT001  run_sync passes no names
    """Return the answer, or what has to be read before; the last time whatever there is."""
    wanted, left_out = _wanted(question)
    file = index_file(directory, question.root)
    os.utime(file)  # it is used: others go first
    inode = file.stat().st_ino
    try:
        with opened(file) as connection:
            ranking = Ranking(connection, question.words, from_thread.check_cancelled)
            connection.execute("BEGIN")  # the answer is of what was compared, even if another process writes meanwhile
            order = _order(question, directory, wanted, connection)
            if order is None or is_last:
                return _found(connection, ranking, question, list(wanted), left_out)
            return order
    except sqlite3.Error as error:
        if is_last or not is_damage(error):
            raise
    return _new_order(question, directory, changed=list(wanted), broken=inode)


def _order(question: Question, directory: Path, wanted: _Stamps, connection: sqlite3.Connection) -> Order | None:
    known = stamps(connection)
    for path in unread(connection):
        if path in wanted and _is_readable(question.root, path):  # neither its size nor its time tells
            del known[path]
    changed = [path for path, stamp in wanted.items() if known.get(path) != stamp]
    gone = [path for path in known if path not in wanted and _is_below(path, question.start)]
    return _new_order(question, directory, changed=changed, gone=gone) if changed or gone else None


def _new_order(
    question: Question, directory: Path, *, changed: Sequence[str], gone: Sequence[str] = (), broken: int = 0
) -> Order:
    return Order(
        directory=str(directory),
        root=str(question.root),
        changed=changed,
        gone=gone,
        max_file_bytes=MAX_FILE_BYTES,
        broken=broken,
        owner=os.getpid(),
    )


def _is_readable(root: Path, path: str) -> bool:
    file = open_file(root, path)
    if file is not None:
        file.close()
    return file is not None


def _is_below(path: str, start: str) -> bool:
    return start in {".", path} or path.startswith(f"{start}/")


async def _read_apart(order: Order) -> str | None:
    """Carry out the order in a process of its own; or say why there is none that does.

    Parsing holds the interpreter's lock, so a thread would hold up the event loop.
    """
    said = await to_thread.run_sync(json.dumps, asdict(order))
    try:
        done = await run_apart(build.__module__, said.encode(), _LIMITS)
    except OSError as error:
        return str(error)
    if not done.returncode:
        return None
    reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    if done.returncode == UNUSABLE:
        raise OSError(reason)
    failed = f"it ended with {done.returncode}: {reason}"
    if done.returncode in _CRASHES or reason.startswith(MemoryError.__name__):
        raise RuntimeError(failed)
    return failed


def _answer_in_memory(question: Question) -> Found:
    """Read and ask; nothing of it is left, even when this process is killed."""
    wanted, left_out = _wanted(question)
    with in_memory() as connection:
        for _ in read_into(connection, question.root, wanted, MAX_FILE_BYTES):
            from_thread.check_cancelled()
        ranking = Ranking(connection, question.words, from_thread.check_cancelled)
        return _found(connection, ranking, question, list(wanted), left_out)


def _found(
    connection: sqlite3.Connection, ranking: Ranking, question: Question, paths: Sequence[str], left_out: LeftOut
) -> Found:
    missed = unread(connection).intersection(paths)
    hits = ranking.hits(paths, question.limit)
    places = [(hit, ranking.best_lines(_text(question.root, hit.path), hit, question.lines)) for hit in hits]
    return Found(places=places, left_out=replace(left_out, unread=left_out.unread + len(missed)))


def _text(root: Path, path: str) -> list[str]:
    return lines((read_file(root, path, MAX_FILE_BYTES) or b"").decode(errors="replace"))
