"""Tree search by ripgrep."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, Process

from ohm_subagents._backends.in_process.tools.failure import fail
from ohm_subagents._backends.in_process.tools.globs import Wanted
from ohm_subagents._backends.in_process.tools.place import printable
from ohm_subagents._backends.in_process.tools.text_file import RECORD_BYTES, decode
from ohm_subagents._backends.in_process.tools.tree import Hits, Line, Query

_MATCH: Final = re.compile(rb"(?P<path>[^\0]+)\0(?P<number>\d+)(?P<sign>[:-])(?P<text>.*)", re.DOTALL)
_COMMON: Final = ("--no-config", "--no-messages", "--color=never", "--sort=path", "--null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ripgrep:
    """Runs `program` with an empty environment, so that no user setting changes a result."""

    program: str
    note: str = ""

    async def files(self, root: Path, start: str) -> list[str]:
        found: list[str] = []
        async with await self._start(root, "--files", "--", _argument(start)) as process:
            async for record in _records(_stdout(process), b"\0"):
                found.append(_shown(record))  # noqa: PERF401  an async comprehension cannot be left early on cancel
        return found

    async def grep(self, root: Path, start: str, query: Query, wanted: Wanted, limit: int) -> Hits:
        # rg's own --glob would override the ignore files, so the wanted files are picked from its output.
        hits = Hits(limit=limit, context=query.context)
        options = [
            "--with-filename",
            "--no-heading",
            "--line-number",
            "--crlf",
            f"--context={query.context}",
            *(["--fixed-strings"] if query.literal else []),
            *(["--ignore-case"] if query.ignore_case else []),
        ]
        async with await self._start(root, *options, "--", query.pattern, _argument(start)) as process:
            async with aclosing(_records(_stdout(process), b"\n")) as records:
                async for record in records:
                    line = _line(record)
                    if line is not None and wanted(line.path) and not hits.add(line):
                        process.kill()
                        return hits
            failure = await _failure(process, query)
        if failure and not hits.lines:
            fail(failure)
        return hits

    async def _start(self, root: Path, *arguments: str) -> Process:
        command = [self.program, *_COMMON, *arguments]
        return await anyio.open_process(command, cwd=root, env={}, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)


def _argument(start: str) -> str:
    return "./" if start == "." else f"./{start}"  # never an option, whatever the file is called


def _shown(path: bytes) -> str:
    return decode(path).removeprefix("./")


def _line(record: bytes) -> Line | None:
    match = _MATCH.match(record)
    if match is None:  # a separator between groups
        return None
    text = decode(match["text"]).rstrip("\r")
    return Line(path=_shown(match["path"]), number=int(match["number"]), text=text, is_match=match["sign"] == b":")


def _stdout(process: Process) -> ByteReceiveStream:
    assert process.stdout is not None  # noqa: S101  opened with a pipe above
    return process.stdout


async def _records(stream: ByteReceiveStream, end: bytes) -> AsyncGenerator[bytes]:
    """The output split at `end`; a record too long to hold is cut."""
    pending = b""
    async for chunk in stream:
        *whole, pending = (pending + chunk).split(end)
        for record in whole:
            yield record[:RECORD_BYTES]
        pending = pending[:RECORD_BYTES]
    if pending:
        yield pending


async def _failure(process: Process, query: Query) -> str:
    """What rg could not do, in one sentence, or nothing."""
    assert process.stderr is not None  # noqa: S101  opened with a pipe above
    errors = b"".join([chunk async for chunk in process.stderr]).decode(errors="replace")
    if await process.wait() <= 1:
        return ""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    reason = next((line for line in lines if line.startswith("error: ")), lines[0] if lines else "no reason given")
    cause = printable(reason).removeprefix("error: ").removeprefix("rg: ").rstrip(".")
    return (
        f'The pattern "{query.pattern}" is not a valid regular expression: {cause}; set literal to search it as text.'
    )
