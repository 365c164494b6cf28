"""A session of an editor: the tasks of one session of ours, a task for each prompt."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Final, Protocol

import anyio
from acp import RequestError
from acp.helpers import update_agent_thought_text, update_user_message_text
from acp.schema import PromptResponse, SessionInfoUpdate
from acp.schema import Usage as PromptUsage

from ohm_subagents import ClosedError, EventStream, Handle
from ohm_subagents.acp.requests import Asking, Requests, answering_command
from ohm_subagents.acp.stops import INTERNAL_ERROR, INVALID_REQUEST, failure, stop_reason
from ohm_subagents.acp.updates import TaskUpdates
from ohm_subagents.contract import AnswerAwaited, Err, Ok, Usage
from ohm_subagents.store import TaskQuery
from ohm_subagents.suite import asked_by
from ohm_subagents.views import request_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from ohm_subagents import Envelope, Ohm, OhmError
    from ohm_subagents.acp.choices import Choices
    from ohm_subagents.acp.updates import Update
    from ohm_subagents.contract import Answer, Event, ListedTask, Request, Result, SessionId, Task, TaskId

TASK: Final = "ohm/task"
"""The key of `_meta` with the id of a task."""


@dataclass(slots=True)
class _Turn:
    """The prompt that is being answered."""

    task_id: TaskId | None = None
    """Its task; None before the first event, as long as `updates` is."""
    updates: TaskUpdates | None = None
    """Writes the updates of that task."""
    is_cancelled: bool = False
    """The editor has cancelled it."""
    _seen: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])

    def seen(self, request_id: str) -> anyio.Event:
        """Return what is set once the editor was told of all that happened before a request of this turn."""
        return self._seen.setdefault(request_id, anyio.Event())


class Editor(Asking, Protocol):
    """The client of a connection, as a session reaches it."""

    async def session_update(self, session_id: str, update: Update) -> None:
        """Send an update of a session."""
        ...


class Session:
    """A session of one connection; `id` is the name that the editor knows, `kept_as` that of the kept tasks."""

    def __init__(
        self,
        session_id: str,
        kept_as: SessionId,
        *,
        ohm: Ohm,
        cwd: Path,
        choices: Choices,
        tools: tuple[str, ...],
        config: Path | None,
    ) -> None:
        """`tools` names those of the editor's servers, which each of its subagents gets.

        `config` is the ohm.json of `--config`.
        """
        self.id = session_id
        self.ohm = ohm
        self.choices = choices
        self._kept_as = kept_as
        self._cwd = cwd
        self._tools = tools
        self._config = config
        self._turn: _Turn | None = None
        self._told: set[str] = set()

    async def prompt(self, text: str, editor: Editor, *, takes_forms: bool = False) -> PromptResponse:
        """Answer a prompt by a task that continues the session; one at a time.

        What the subagent requests is put to the editor; `takes_forms` says that this one shows forms. A caller that is
        cancelled cancels the task. Raises RequestError for a failure.
        """
        if self._turn is not None:
            raise RequestError(
                INVALID_REQUEST,
                f"A prompt of session {self.id!r:.80} is being answered. Wait for its end, or cancel it.",
            )
        self._turn = turn = _Turn()
        try:
            await self._tell_diagnostics(editor)
            requests = Requests(self.id, editor, self._cwd, takes_forms=takes_forms)
            answer = partial(self._answer, turn, editor, requests)
            with self.ohm.answering(answer, by="editor", attends=self._is_of_session):
                result = await self._run(turn, text, editor)
        finally:
            self._turn = None
        reason = stop_reason(result.err())
        if isinstance(result, Err) and reason != "cancelled":
            updates = turn.updates or TaskUpdates("", self._cwd)
            await editor.session_update(self.id, updates.failed(result.err_value))
            if reason is None:
                raise failure(result.err_value)
        task = None if turn.task_id is None else self.ohm.task(turn.task_id)
        return PromptResponse(
            stop_reason=reason or "end_turn",
            usage=None if task is None else _usage_of(task),
            field_meta=None if task is None else {TASK: task.id},
        )

    def _is_of_session(self, path: tuple[TaskId, ...]) -> bool:
        root = self.ohm.task(path[0])
        return root is not None and root.session_id == self._kept_as

    async def _answer(self, turn: _Turn, editor: Editor, requests: Requests, request: Request) -> Answer | None:
        """Put a request of the task of this turn, or of one below it, to the editor."""
        await turn.seen(request.id).wait()
        known = None if turn.updates is None else turn.updates.open_call(request.call_id)
        answer = await requests.answer(request, known if request.task_id == turn.task_id else None)
        if answer is None:
            how = answering_command(request, self._config)
            told = f"{request.profile} waits for an answer: {request_text(request)}. Give it with `{how}`.\n"
            await editor.session_update(self.id, update_agent_thought_text(told))
        return answer

    async def _tell_diagnostics(self, editor: Editor) -> None:
        """Tell once what was not honoured as written: an editor shows nobody what is printed."""
        for note in self.ohm.diagnostics:
            if f"{note}" not in self._told:
                self._told.add(f"{note}")
                await editor.session_update(self.id, update_agent_thought_text(f"{note}\n"))

    async def _run(self, turn: _Turn, text: str, editor: Editor) -> Result[Envelope, OhmError]:
        """Run the task of a prompt, and send its updates as they come."""
        earlier = self._listed()
        answer: list[Result[Envelope, OhmError]] = []
        refused: list[RequestError] = []

        async def run(events: EventStream) -> None:
            try:
                answer.append(
                    await self.ohm.run(
                        self.choices.profile,
                        text,
                        observer=events,
                        session=self._kept_as,
                        cwd=self._cwd,
                        model=self.choices.model,
                        tools=self._tools,
                    )
                )
            except ClosedError as closed:
                refused.append(RequestError(INTERNAL_ERROR, f"{closed}"))
            finally:
                events.end()

        with EventStream() as events:
            async with anyio.create_task_group() as group:
                group.start_soon(run, events)
                await self._show(events, turn, earlier, editor)
        if refused:
            raise refused[0]
        return answer[0]

    async def _show(self, events: EventStream, turn: _Turn, earlier: Sequence[ListedTask], editor: Editor) -> None:
        """Send the updates of the first task of a stream; others are those that it starts."""
        async for each in events:
            if turn.updates is None:
                turn.task_id = each.task_id
                await self._begin(turn, each.task_id, editor, is_first=not earlier)
                used_before = reduce(add, (task.tree_usage for task in earlier), Usage())
                turn.updates = TaskUpdates(each.task_id, self._cwd, used_before=used_before)
            if each.task_id == turn.task_id:
                for update in turn.updates.of(each.event):
                    await editor.session_update(self.id, update)
            if isinstance(each.event, AnswerAwaited):
                turn.seen(each.event.request.id).set()

    async def _begin(self, turn: _Turn, task_id: TaskId, editor: Editor, *, is_first: bool) -> None:
        """Tell which task answers the prompt; the first one of a session names it."""
        await self.ohm.store.flush()  # what an editor is told of survives the death of this process
        if turn.is_cancelled:
            await self._cancel(task_id)
        info = SessionInfoUpdate(session_update="session_info_update", field_meta={TASK: task_id})
        task = self.ohm.task(task_id) if is_first else None
        if task is not None:
            info = info.model_copy(update={"title": task.assignment.description})
        await editor.session_update(self.id, info)

    async def cancel(self) -> None:
        """Cancel what is running of the session, at once on the record."""
        if self._turn is not None:
            self._turn.is_cancelled = True
        for task in self._listed():
            if not task.is_terminal:
                await self._cancel(task.id)

    async def _cancel(self, task_id: TaskId) -> None:
        found = self.ohm.handle(task_id)
        if isinstance(found, Handle):
            with asked_by("editor"):
                await found.cancel()

    async def replay(self, editor: Editor) -> None:
        """Send all that was said and done; what a task is still doing is sent as it happens, to its end."""
        for task in self.ohm.store.session(self._kept_as):
            updates = TaskUpdates(task.id, self._cwd, is_past=True)
            await editor.session_update(self.id, update_user_message_text(task.assignment.prompt))
            async with aclosing(self._events(task)) as events:
                async for event in events:
                    for update in updates.of(event):
                        await editor.session_update(self.id, update)
            ended = self.ohm.task(task.id) or task
            if ended.error is not None:
                await editor.session_update(self.id, updates.failed(ended.error))

    async def _events(self, task: Task) -> AsyncGenerator[Event]:
        handle = None if task.is_terminal else self.ohm.handle(task.id)
        if isinstance(handle, Handle):
            async with aclosing(handle.events()) as events:
                async for event in events:
                    yield event
        else:
            for recorded in await self.ohm.store.history(task):
                yield recorded.event

    def _listed(self) -> list[ListedTask]:
        found = self.ohm.store.list(TaskQuery(session=self._kept_as))
        return [each.ok_value for each in found if isinstance(each, Ok)]


def _usage_of(task: Task) -> PromptUsage:
    used = task.activity.tree_usage
    return PromptUsage(
        total_tokens=used.input_tokens + used.output_tokens,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_read_tokens=used.cached_tokens,
        cached_write_tokens=used.cache_write_tokens,
    )
