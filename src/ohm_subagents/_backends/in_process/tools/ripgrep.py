"""Tree search by ripgrep."""

import re
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, Process

from ohm_subagents._backends.in_process.tools.excerpt import clip
from ohm_subagents._backends.in_process.tools.failure import fail
from ohm_subagents._backends.in_process.tools.globs import Wanted
from ohm_subagents._backends.in_process.tools.place import printable
from ohm_subagents._backends.in_process.tools.text_file import RECORD_BYTES, decode
from ohm_subagents._backends.in_process.tools.tree import LINE_CHARS, Files, Hits, Line, Query
from ohm_subagents._backends.inheritance import with_default_signals

_MATCH: Final = re.compile(rb"(?P<path>[^\0]+)\0(?P<number>\d+)(?P<sign>[:-])(?P<text>.*)", re.DOTALL)
# Without messages about files, an exit code 2 that says nothing is about files only.
_COMMON: Final = ("--no-config", "--no-messages", "--no-ignore-messages", "--color=never", "--sort=path", "--null")
_ERROR_BYTES: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Ripgrep:
    """Runs `program` with an empty environment, so that no user setting changes a result."""

    program: str
    note: str = ""

    async def files(self, root: Path, start: str, wanted: Wanted, limit: int) -> Files:
        found = Files(limit=limit)

        def take(records: list[bytes]) -> None:
            for record in records:
                path = _shown(record)
                if wanted(path):
                    found.add(path)

        async with await self._start(root, "--files", "--", _argument(start)) as process:
            async for records in _records(_stdout(process), b"\0"):
                await to_thread.run_sync(take, records, abandon_on_cancel=True)
            found.unread = await _is_partial(process, None)
        return found

    async def grep(self, root: Path, start: str, query: Query, wanted: Wanted, limit: int) -> Hits:
        # rg's own --glob would override the ignore files, so the wanted files are picked from its output.
        hits = Hits(limit=limit, context=query.context)

        def take(records: list[bytes]) -> bool:
            lines = (line for line in map(_line, records) if line is not None and wanted(line.path))
            return all(hits.add(line) for line in lines)

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
            async with aclosing(_records(_stdout(process), b"\n")) as batches:
                async for records in batches:
                    if not await to_thread.run_sync(take, records, abandon_on_cancel=True):
                        with suppress(ProcessLookupError):  # it may be over by itself
                            process.kill()
                        return hits
            hits.unread = await _is_partial(process, query)
        return hits

    async def _start(self, root: Path, *arguments: str) -> Process:
        command = with_default_signals([self.program, *_COMMON, *arguments])
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


async def _records(stream: ByteReceiveStream, end: bytes) -> AsyncGenerator[list[bytes]]:
    """The output split at `end`, in the portions it comes in; a record too long to hold is cut."""
    pending = b""
    async for chunk in stream:
        *whole, pending = (pending + chunk).split(end)
        pending = pending[:RECORD_BYTES]
        if whole:
            yield [record[:RECORD_BYTES] for record in whole]
    if pending:
        yield [pending]


async def _is_partial(process: Process, query: Query | None) -> bool:
    """Whether rg went to its end but could not read everything; if it did not get there, the call fails."""
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
    if code == 2 and query and "regex" in lines[0]:
        fail(
            f'The pattern "{clip(query.pattern, LINE_CHARS)}" is not a valid regular expression: {cause}; '
            "set literal to search it as text."
        )
    return fail(f"The search failed and has no result: {cause}. Search a smaller part of the tree, or use bash.")


def _end(code: int) -> str:
    if code < 0:
        return f"ripgrep was ended by the signal {signal.strsignal(-code) or -code}"
    return f"ripgrep ended with exit code {code}"
