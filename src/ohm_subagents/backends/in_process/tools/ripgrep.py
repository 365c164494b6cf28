"""The lines of files that match, found by ripgrep."""

import os
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, Process

from ohm_subagents.backends.in_process.tools.excerpt import clip
from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.hits import LINE_CHARS, Hits, Line, Query
from ohm_subagents.backends.in_process.tools.place import printable
from ohm_subagents.backends.in_process.tools.text_file import RECORD_BYTES, decode, opened_lines
from ohm_subagents.shell import ProcessLimits, limit_process, loader_environment, with_default_signals

_MATCH: Final = re.compile(rb"(?P<path>[^\0]+)\0(?P<number>\d+)(?P<sign>[:-])(?P<text>.*)", re.DOTALL)
# Without messages about files, an exit code 2 that says nothing is about files only.
_COMMON: Final = (
    *("--no-config", "--no-ignore", "--no-messages", "--no-ignore-messages", "--color=never", "--null"),
    *("--threads=1", "--no-mmap", "--dfa-size-limit=256M"),
)
_LIMITS: Final = ProcessLimits(memory=1 << 30, seconds=120)
_ERROR_BYTES: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Ripgrep:
    """Runs `program` on files that are named to it: it reads no ignore file, no setting and no environment.

    It finds places only: what is shown of a file is what is read there by ourselves, from directory to directory.
    """

    program: str

    async def match(self, root: Path, paths: list[str], query: Query, hits: Hits) -> bool:
        """Add the matching lines of these files; False when nothing more is wanted.

        A pattern that cannot be searched for is a `ToolFailed`.
        """
        before = len(hits.lines)

        def take(records: list[bytes]) -> bool:
            return all(hits.add(line) for line in map(_line, records) if line is not None)

        options = [
            "--with-filename",
            "--no-heading",
            "--line-number",
            "--crlf",
            f"--context={query.context}",
            *(["--fixed-strings"] if query.literal else []),
            *(["--ignore-case"] if query.ignore_case else []),
        ]
        files = [f"./{path}" for path in paths] or [os.devnull]  # never an option, whatever the file is called
        wants_more = True
        async with await self._start(root, *options, "--", query.pattern, *files) as process:
            limit_process(process.pid, _LIMITS)
            async with aclosing(_records(_stdout(process), b"\n")) as batches:
                async for records in batches:
                    if not await to_thread.run_sync(take, records, abandon_on_cancel=True):
                        with suppress(ProcessLookupError):  # it may be over by itself
                            process.kill()
                        wants_more = False
                        break
            if wants_more:
                hits.gaps.unread |= await _is_partial(process, query)
        await to_thread.run_sync(_verify, root, hits, before, abandon_on_cancel=True)
        return wants_more

    async def _start(self, root: Path, *arguments: str) -> Process:
        command = with_default_signals([self.program, *_COMMON, *arguments])
        env = loader_environment()
        return await anyio.open_process(command, cwd=root, env=env, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)


def _verify(root: Path, hits: Hits, first: int) -> None:
    """Keep of the newest lines those that stand there: a directory may have become a link while ripgrep read."""
    kept = hits.lines[:first]
    for file, group in groupby(hits.lines[first:], key=lambda line: line.file):
        told = {line.number: line for line in group}
        with opened_lines(root, file) as lines:
            for number, text in zip(range(1, max(told) + 1), lines or (), strict=False):
                line = told.get(number)
                if line is not None and _shown(text) == line.text.removeprefix("\ufeff"):
                    kept.append(line)
    hits.keep(kept)


def _shown(text: str) -> str:
    return clip(text.removeprefix("\ufeff"), LINE_CHARS)


def _line(record: bytes) -> Line | None:
    match = _MATCH.match(record)
    if match is None:  # a separator between groups
        return None
    text = decode(match["text"]).rstrip("\r")
    path = os.fsdecode(match["path"]).removeprefix("./")
    return Line(file=path, number=int(match["number"]), text=text, is_match=match["sign"] == b":")


def _stdout(process: Process) -> ByteReceiveStream:
    assert process.stdout is not None  # noqa: S101  opened with a pipe above
    return process.stdout


async def _records(stream: ByteReceiveStream, end: bytes) -> AsyncGenerator[list[bytes]]:
    """Yield the output split at `end`, in the portions it comes in; a record too long to hold is cut."""
    pending = b""
    async for chunk in stream:
        *whole, pending = (pending + chunk).split(end)
        pending = pending[:RECORD_BYTES]
        if whole:
            yield [record[:RECORD_BYTES] for record in whole]
    if pending:
        yield [pending]


async def _is_partial(process: Process, query: Query) -> bool:
    """Return True if rg went to its end but could not read everything; fail the call if it did not get there."""
    assert process.stderr is not None  # noqa: S101  opened with a pipe above
    errors = b""
    async for chunk in process.stderr:
        errors = (errors + chunk)[:_ERROR_BYTES]
    code = await process.wait()
    if code in {0, 1}:  # something or nothing was found
        return False
    lines = [line.strip() for line in decode(errors).splitlines() if line.strip()]
    if code == 2 and not lines:
        return True
    reason = next((line for line in lines if line.startswith("error: ")), lines[0] if lines else _end(code))
    cause = clip(printable(reason), LINE_CHARS).removeprefix("error: ").removeprefix("rg: ").rstrip(".")
    if code == 2 and "regex" in lines[0]:
        fail(
            f'The pattern "{clip(query.pattern, LINE_CHARS)}" is not a valid regular expression: {cause}; '
            "set literal to search it as text."
        )
    return fail(f"The search failed and has no result: {cause}. Search a smaller part of the tree, or use bash.")


def _end(code: int) -> str:
    if code < 0:
        return f"ripgrep was ended by the signal {signal.strsignal(-code) or -code}"
    return f"ripgrep ended with exit code {code}"
