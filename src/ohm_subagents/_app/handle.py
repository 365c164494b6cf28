"""A task in the background, as the program that started it holds it."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Generic

from anyio.lowlevel import checkpoint

from ohm_subagents._app.answers import answer_of, answer_to_follow_up
from ohm_subagents._app.options import session_of
from ohm_subagents._app.streams import events_of
from ohm_subagents.contract.commands import Overrides, Send, StartItem, Wait
from ohm_subagents.contract.envelope import DataT, Envelope
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.replies import (
    Accepted,
    CommandRejected,
    ItemRejected,
    Missing,
    Reply,
    SendReply,
    StartReply,
    TasksReply,
)
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from ohm_subagents._app.commanding import Commanding
    from ohm_subagents._app.options import RunOptions, ToolMaker
    from ohm_subagents._plugins.suites.tool import Tool
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.task import Task


def start_item(profile: str | Profile, prompt: str, options: RunOptions, overrides: Overrides) -> StartItem:
    """Make the item of a program; without a description it is called by the first line of its prompt."""
    description = options.get("description")
    return StartItem(
        profile=profile,
        prompt=prompt,
        description=f"{prompt}".strip().partition("\n")[0][:72] if description is None else description,
        overrides=overrides,
        session=session_of(options),
    )


def one_item(reply: Reply) -> Result[Task, OhmError]:
    """Return the task of a start of one item, or the error that refused it."""
    match reply:
        case StartReply(items=(Accepted(task=task),)):
            return Ok(task)
        case StartReply(items=(ItemRejected(error=error),)) | CommandRejected(error=error):
            return Err(error)
        case _:
            raise AssertionError("A start of one item has one reply.")


class Handle(Generic[DataT]):
    """`id` is the one that every tool sees; None when the start was refused, and then every answer is the refusal.

    A follow-up to a settled task becomes a new task (`sendToFinished: resume`), and the handle is then that one's.
    """

    def __init__(
        self,
        engine: Commanding,
        started: Result[Task, OhmError],
        *,
        child_tool: ToolMaker,
        item: StartItem | None = None,
        result_type: type[DataT] | None = None,
    ) -> None:
        """Use `Ohm.start`."""
        self._child_tool = child_tool
        self._started: Result[TaskId, OhmError] = Ok(started.ok_value.id) if isinstance(started, Ok) else started
        self._engine = engine
        self._item = item
        self._result_type = result_type

    @property
    def id(self) -> TaskId | None:
        """The task that `wait`, `send`, `cancel` and `events` are about."""
        return self._started.ok()

    @property
    def task_ids(self) -> tuple[TaskId, ...]:
        """The same as a tuple, which a `Call` has too; empty when the start was refused."""
        return () if self.id is None else (self.id,)

    async def wait(self, *, timeout_ms: int | None = None) -> Result[Envelope[DataT], OhmError]:
        """Return the answer of the settled task; `task_wait_timeout` after `timeout_ms`. Never cancels it."""
        if isinstance(self._started, Err):
            return self._started
        task_id = self._started.ok_value
        match await self._engine.execute(Wait(ids=(task_id,), timeout_ms=timeout_ms)):
            case TasksReply(items=(Accepted(task=task),)) if task.is_terminal or task.requests:
                return answer_of(task, self._result_type)
            case TasksReply(items=(Missing(error=error),)) | CommandRejected(error=error):
                return Err(error)
            case _:
                return Err(
                    OhmError(
                        code=ErrorCode.WAIT_TIMEOUT,
                        message=f"Task '{task_id}' was not settled after {timeout_ms} ms.",
                        advice="It goes on; wait again.",
                        retryable=True,
                        task_id=task_id,
                    )
                )

    async def send(
        self,
        prompt: str,
        *,
        profile: Profile | None = None,
        tools: Iterable[Tool | Callable[..., object]] | None = None,
    ) -> Result[Envelope[DataT], OhmError]:
        """Send a follow-up, and return the answer of the run that took it.

        `profile` and `tools` are for a settled task (`sendToFinished: resume`): in place of those that it was started
        with, which are not kept over a restart if they were objects of the program.
        """
        if isinstance(self._started, Err):
            return self._started
        command = Send(
            id=self._started.ok_value,
            prompt=prompt,
            item=self._item,
            profile=profile,
            tools=None if tools is None else tuple(map(self._child_tool, tools)),
        )
        answer = await self._engine.execute(command, observer=_Follower(self._go_on_with))
        match answer:
            case SendReply():
                return answer_to_follow_up(answer, self._result_type)
            case CommandRejected(error=error):
                return Err(error)
            case _:
                raise AssertionError("A send has a reply of its own.")

    async def cancel(self) -> bool:
        """Stop the task, at once on the record; False when it was settled before."""
        self._engine.check_open()
        if self.id is None:
            return False
        is_cancelled = await self._engine.cancel(self.id)
        await checkpoint()
        return is_cancelled

    async def events(self, *, with_checkpoints: bool = False) -> AsyncGenerator[Event]:
        """Yield what is kept of the past, then every event as it happens; the last one is always `TaskSettled`.

        Of the past are kept the newest texts and tool calls. Begin to read right after the start to miss nothing. Of a
        task that another process runs all events are told, as they are stored.
        A `Checkpointed` is the whole conversation of the backend (system prompt, every message) and is left out
        unless `with_checkpoints`. `event_to_json` makes plain JSON of an event.
        """
        self._engine.check_open()
        if self.id is None:
            return
        events = events_of(self._engine, self.id, with_checkpoints=with_checkpoints)
        async with aclosing(events):
            async for each in events:
                yield each.event

    def _go_on_with(self, task: Task) -> None:
        self._started = Ok(task.id)


class _Follower:
    """Tells which task a follow-up has become, from its first event on."""

    def __init__(self, found: Callable[[Task], None]) -> None:
        self._found = found

    def notify(self, task: Task, event: Event) -> None:
        del event
        self._found(task)
