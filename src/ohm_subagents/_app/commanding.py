"""The engine as the handles, calls and streams of an `Ohm` use it: in this process, or in that of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ohm_subagents._plugins.suites.interface import Executor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from ohm_subagents._orchestrator.run.answerers import Fault
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.requests import Answer, AnsweredBy, Request
    from ohm_subagents.contract.result import Result
    from ohm_subagents.contract.task import Task


class Commanding(Executor, Protocol):
    """Carries out commands, and lets tasks be followed."""

    @property
    def store(self) -> Store:
        """The store that keeps the tasks."""
        ...

    def check_open(self) -> None:
        """Refuse to work for an `Ohm` that was left, and in a thread or an event loop that is not its own."""
        ...

    async def cancel(self, task_id: TaskId) -> bool:
        """Cancel a task for the program that started it; return True if it ran."""
        ...

    def watching(self, task_id: TaskId, observer: Observer) -> AbstractAsyncContextManager[tuple[Task | None, bool]]:
        """Follow one task; gives its state as it is at the start, None if it is unknown, and True if it is followed."""
        ...

    def watching_all(self, observer: Observer) -> AbstractContextManager[None]:
        """Follow every task, also those that start meanwhile."""
        ...

    def close(self, reason: str, *, is_store_ours: bool, detaches: bool) -> None:
        """End the tasks that end with this `Ohm`."""
        ...


class Answers(Protocol):
    """Takes answers to requests of subagents."""

    def open_requests(self) -> tuple[Request, ...]:
        """Return the open requests, oldest first."""
        ...

    async def answer(self, request_id: str, answer: Answer, by: AnsweredBy) -> Result[Request, OhmError]:
        """Answer a request; the first answer counts, and is stored when this returns."""
        ...


class Attendance(Protocol):
    """Asks functions of the program for answers to requests of subagents."""

    def begin(self) -> None:
        """Ask `approvals` of `Ohm.open`, as soon as the `Ohm` is open, about requests that nobody runs any more."""
        ...

    def answering(
        self,
        callback: Callable[[Request], Awaitable[Answer | Fault | None]],
        by: AnsweredBy,
        attends: Callable[[tuple[TaskId, ...]], bool | Awaitable[bool]] | None = None,
    ) -> AbstractContextManager[None]:
        """Ask a callback while this is open."""
        ...
