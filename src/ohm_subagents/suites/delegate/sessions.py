"""The sessions: those of this process, those of the host's log, and those that the engine keeps."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeGuard

from pydantic import ValidationError

from ohm_subagents.suite import SessionId
from ohm_subagents.suites.delegate.details import SessionRun
from ohm_subagents.suites.delegate.outcome import INTERRUPTED, kept_run

if TYPE_CHECKING:
    from ohm_subagents.suite import JsonObject, SuiteContext, TaskId

ENTRY: Final = "pi-subagents"
"""The type of our entries in a host's session log."""
MAX_SESSIONS: Final = 32
MAX_RUNS: Final = 10
MAX_MESSAGES: Final = 1000

logger = logging.getLogger(__name__)


class KeptRun(Protocol):
    """A run of a session as it is now; one that goes on changes."""

    @property
    def task_id(self) -> TaskId | None:
        """The task that it is to the engine, if that has it."""
        ...

    def record(self) -> SessionRun:
        """Return the record of the session."""
        ...


@dataclass(frozen=True, slots=True)
class Settled:
    """A run that is over, from a host's log."""

    run: SessionRun
    task_id: TaskId | None = None

    def record(self) -> SessionRun:
        """Return the run, which does not change any more."""
        return self.run


class Sessions:
    """Sessions by id, each with its newest runs, oldest first; of the sessions that are over the oldest make room.

    Without a host, the engine is asked each time for what is not known here: its store outlives this process, and is
    shared with others.
    """

    def __init__(self, context: SuiteContext) -> None:
        self._context = context
        self._runs: dict[str, list[KeptRun]] = {}

    def hear(self, context: SuiteContext) -> None:
        """Reach the host and the engine by this context from now on: its redaction may have changed."""
        self._context = context

    async def find(self, session_id: str) -> tuple[SessionRun, ...]:
        """Return the runs of a session; none if it is unknown. The clock orders those of other processes only."""
        kept = () if self._context.host.program else await self._context.executor.read_session(SessionId(session_id))
        known = self._runs.get(session_id, ())
        ours = {run.task_id for run in known}
        runs = tuple(run.record() for run in known)
        others = tuple(kept_run(session_id, one) for one in kept if one.task.id not in ours)
        if others:
            runs = tuple(sorted((*others, *runs), key=lambda run: run.started_at))
        return runs[-MAX_RUNS:]

    def add(self, session_id: str, run: KeptRun) -> None:
        """A new run, perhaps of a new session."""
        if session_id not in self._runs:
            self._make_room()
        runs = self._runs.setdefault(session_id, [])
        runs.append(run)
        del runs[:-MAX_RUNS]

    def clear(self) -> None:
        """Forget all of them."""
        self._runs.clear()

    def replay(self) -> None:
        """Read the host's log again, and keep what goes on. An entry that cannot be read is left out."""
        logged = [run for entry in self._log() if (run := _run_in(entry)) is not None]
        running = {key: [run for run in runs if _is_running(run)] for key, runs in self._runs.items()}
        self.clear()
        for run in logged:
            self.add(run.session_id, Settled(run))
        for session_id, runs in running.items():
            for each in runs:
                self.add(session_id, each)

    def _log(self) -> tuple[JsonObject, ...]:
        try:
            return () if self._context.host.program is None else tuple(self._context.host.program.branch())
        except Exception:
            logger.warning("The session log could not be read.", exc_info=True)
            return ()

    def persist(self, run: SessionRun) -> None:
        """Write a run that is over to the host's log; a failure is logged and costs nothing else."""
        if self._context.host.program is None:
            return
        try:
            self._context.host.program.append_entry(ENTRY, run.payload())
        except Exception:
            logger.warning("A session entry could not be appended.", exc_info=True)

    def _make_room(self) -> None:
        """For one more; a session with a run that goes on is never the one to leave."""
        while len(self._runs) >= MAX_SESSIONS:
            over = [key for key, runs in self._runs.items() if not any(_is_running(run) for run in runs)]
            if not over:
                return
            del self._runs[min(over, key=lambda key: self._runs[key][0].record().started_at)]


def _is_running(run: KeptRun) -> bool:
    return run.record().status == "running"


def _run_in(entry: object) -> SessionRun | None:
    """Return the run of a log entry of ours."""
    if not _is_object(entry):
        return None
    data = entry.get("data")
    if entry.get("type") != "custom" or entry.get("customType") != ENTRY or not _is_object(data):
        return None
    messages = data.get("messages")
    if not isinstance(messages, list) or len(messages) > MAX_MESSAGES:
        return None
    if not all(_is_object(message) and isinstance(message.get("role"), str) for message in messages):
        return None
    run = _validated(data)
    if run is None or run.status != "running":
        return run
    return run.model_copy(update={"status": "error", "error_message": run.error_message or INTERRUPTED})


def _is_object(value: object) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)


def _validated(data: JsonObject) -> SessionRun | None:
    """Return the run, without what is of a wrong type in it and can be done without."""
    try:
        return SessionRun.model_validate(data)
    except ValidationError as invalid:
        wrong = {str(error["loc"][0]) for error in invalid.errors(include_url=False)}
    if wrong & _REQUIRED:
        return None
    return SessionRun.model_validate({key: value for key, value in data.items() if key not in wrong})


_REQUIRED: Final = frozenset({"sessionId", "taskName", "prompt", "status", "messages"})
