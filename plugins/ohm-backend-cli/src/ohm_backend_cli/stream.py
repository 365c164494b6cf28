"""Reads the JSON lines of a CLI by a table: kind of record → what it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ohm_backend_cli.failure import cut_short, empty, failure, left_badly
from ohm_backend_cli.run_state import RunState
from ohm_subagents.contract import RunEvent
from ohm_subagents.plugin import Err, JsonObject, OhmError, Ok, Result, RunOutput
from ohm_subagents.shell import records

if TYPE_CHECKING:
    from ohm_subagents.shell import Ended

Handler: TypeAlias = Callable[[JsonObject, RunState], Iterable[RunEvent]]
"""Tell a record in the words of `RunState`. It takes any record: one of another shape tells nothing."""
Table: TypeAlias = Mapping[str, Handler]
"""By the `type` of a record; other records are passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of a process, where it tells more than the CLI has said."""

    cause: Callable[[str, Ended], str] = lambda said, _ended: said
    """Return why a run has failed, which its standard error may tell better than what it said."""
    http_status: Callable[[Ended], int | None] = lambda _ended: None
    """Return the HTTP status of the provider that an exit code tells, if it does."""


class StreamReader:
    """A `Reader`."""

    def __init__(self, run: RunState, table: Table, ending: Ending) -> None:
        self._run = run
        self._table = table
        self._ending = ending

    def read(self, line: bytes) -> list[RunEvent]:
        """Return the events of a line."""
        record = records(line)
        if record is None:
            return []
        kind = record.get("type")
        handler = self._table.get(kind) if isinstance(kind, str) else None
        if handler is None or self._run.is_over:
            return []
        events = list(handler(record, self._run))
        return [*self._run.opening(), *events]

    @property
    def is_over(self) -> bool:
        """The CLI has said that the run has ended."""
        return self._run.is_over

    def last(self, ended: Ended) -> list[RunEvent]:
        """Return the end, for a CLI that ends without a word of it."""
        del ended
        return self._run.closing()

    def outcome(self, ended: Ended) -> Result[RunOutput, OhmError]:
        """Success is an end that the CLI reported, an answer, and an exit code that does not speak against it."""
        run = self._run
        if run.failed is not None:
            said, status = run.failed
            text = self._ending.cause(said, ended)
            return Err(failure(run.id, text, status=status or self._ending.http_status(ended), env=run.request.env))
        if not run.is_done:
            return Err(cut_short(run.id, ended, run.hint, env=run.request.env))
        if ended.code and not ended.was_stopped:
            return Err(left_badly(run.id, ended, env=run.request.env))
        if not run.answer.strip():
            return Err(empty(run.id))
        return Ok(RunOutput(text=run.answer))
