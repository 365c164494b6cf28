"""One run that a runner hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ohm_subagents.contract.wire import (
    AnswerMessage,
    CancelRun,
    CaughtUp,
    EventReported,
    ResultReported,
    RunMessage,
    SteerRun,
)
from ohm_subagents.plugin import Err, ErrorCode, OhmError, Ok, as_exception
from ohm_subagents.remote.asks import Asks, RemoteGate, RemoteInbox, remote_tool
from ohm_subagents.remote.request import rules_at, run_request
from ohm_subagents.remote.run_log import RunLog
from ohm_subagents.remote.unattended import UnattendedRequests
from ohm_subagents.remote.workspaces import reported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ohm_subagents.contract.wire import AttachRun, RunReport, WireRun
    from ohm_subagents.plugin import Backend, Result, RunEvent, RunOutput
    from ohm_subagents.remote.run_log import Entry
    from ohm_subagents.remote.workspaces import Workspaces

    Told = Callable[["HostedRun", Entry], None]


class HostedRun:
    """A run, its log, and what it waits for. It is the `Sink` of its backend.

    Fields:
        owner: the submitter that gets the reports.
        has_ended: True once its last report, the result, is in its log.
        requests: asks a ledger for its model requests while its submitter is silent.
        unattended: set once its runner keeps it no more; None while no ledger is to be asked.
    """

    def __init__(self, run_key: str, run: WireRun, *, owner: str, told: Told, max_unsent: int) -> None:
        """`told` is called with each report that is added to the log."""
        self.key = run_key
        self.run = run
        self.owner = owner
        self.has_ended = False
        self.unattended: anyio.Event | None = None
        self.log = RunLog(max_unsent=max_unsent)
        self.asks = Asks(run_key, self._add, lambda: self.log.next_n)
        self.requests = UnattendedRequests(self.asks, self.emit)
        self._inbox = RemoteInbox(self.asks)
        self._told = told
        self._scope = anyio.CancelScope()
        self._is_cancelled = False
        self._work: tuple[str | None, OhmError | None] = None, None

    def emit(self, event: RunEvent) -> None:
        """Report an event."""
        self.requests.note(event)
        if not self.has_ended and not self.log.joins(event):
            self._add(EventReported(run_key=self.key, n=self.log.next_n, event=event))

    def take(self, message: RunMessage) -> None:
        """Take in a message of the submitter."""
        match message:
            case CancelRun():
                self._is_cancelled = True
                self._scope.cancel()
            case SteerRun():
                self._inbox.take(message)
            case AnswerMessage():
                self.asks.answer(message)
            case _:
                pass

    def replay(self, message: AttachRun) -> None:
        """Tell a submitter that comes later what it has missed, and ask it what is not over."""
        since, self.requests.after_s = message.since, message.ledger_after_s
        for entry in self.log.since(since):
            if entry.is_history:
                self._told(self, entry)
        self._inbox.tell_open()
        self.asks.ask_again(since)
        if message.tells_end:
            self._add(CaughtUp(run_key=self.key, n=self.log.next_n))

    async def serve(self, backend: Backend, workspaces: Workspaces, env: Mapping[str, str]) -> None:
        """Run it to its end, which is the last report of the log."""
        result: Result[RunOutput, OhmError] = Err(_stopped("The runner was closed."))
        try:
            with self._scope:
                result = await self._run(backend, workspaces, env)
            if self._scope.cancelled_caught and self._is_cancelled:
                result = Err(_stopped("The run was stopped."))
        except BaseException as error:  # noqa: BLE001  a backend must never raise; a plugin may all the same
            result = Err(_crashed(self.run, as_exception(error)))
        finally:
            self._end(result)

    async def _run(
        self, backend: Backend, workspaces: Workspaces, env: Mapping[str, str]
    ) -> Result[RunOutput, OhmError]:
        async with workspaces.opened(self.run.spec.workspace) as opened:
            if isinstance(opened, Err):
                return opened
            directory = opened.ok_value.directory
            rules = rules_at(self.run.spec, directory)
            gate = RemoteGate(self.asks, self.run.unpriced, rules=rules, cwd=directory)
            request = run_request(
                self.run,
                directory,
                env=env,
                child_tools=tuple(remote_tool(tool, self.asks) for tool in self.run.spec.child_tools),
                inbox=self._inbox if self.run.has_inbox else None,
                gate=gate if self.run.has_gate else None,
            )
            try:
                return await backend.run(request, self)
            finally:
                if self.run.spec.workspace.kind != "shared":
                    with anyio.CancelScope(shield=True):
                        self._work = await reported(opened.ok_value)

    def _end(self, result: Result[RunOutput, OhmError]) -> None:
        work, work_error = self._work
        told = ResultReported(run_key=self.key, n=self.log.next_n, work=work, work_error=work_error)
        match result:
            case Ok(output):
                told = replace(told, text=output.text, summary=output.summary, exit_code=output.exit_code)
            case Err(error):
                told = replace(told, error=error)
        self._add(told)
        self.has_ended = True

    def _add(self, report: RunReport) -> Entry | None:
        if self.has_ended:
            return None
        entry = self.log.add(report)
        self._told(self, entry)
        return entry


def _stopped(message: str) -> OhmError:
    return OhmError(code=ErrorCode.TASK_ABORTED, message=message)


def _crashed(run: WireRun, error: Exception) -> OhmError:
    """Return the error of a run whose backend raised, as an engine in the same process writes it."""
    text = f"{type(error).__name__}: {error}"
    message = f"Task {run.task_id} backend failed: {text}"
    return OhmError(code=ErrorCode.BACKEND_FAILED, message=message, cause=text)
