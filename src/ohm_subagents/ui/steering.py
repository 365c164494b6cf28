"""Cancels, follow-ups, answers and landings from the page: as those of the command line, in whichever process."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Final, Literal

import anyio
from pydantic import BaseModel, ConfigDict, Field

from ohm_subagents.contract import Approve, Category, Deny, Err, ErrorCode, OhmError, Ok, Text
from ohm_subagents.suite import asked_by
from ohm_subagents.ui.answers import Done, Told
from ohm_subagents.ui.words import answered_words
from ohm_subagents.views import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from ohm_subagents import Call, Ohm
    from ohm_subagents.contract import Answer, Result
    from ohm_subagents.suite import ToolResult

_AT_ONCE_S: Final = 1.0
"""A follow-up to a task that works is not waited for any longer: what comes of it is told later."""
_MOST_SAID: Final = 500
_CANCELLED: Final = "It is cancelled."
MOST_PROMPT: Final = 200_000


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Nothing(_Body):
    """The body of a cancel, a landing or a discard: an empty object."""


class FollowUp(_Body):
    """The body of a follow-up."""

    prompt: Annotated[str, Field(min_length=1, max_length=MOST_PROMPT, pattern=r"\S")]
    """The text."""


class Given(_Body):
    """The body of an answer."""

    answer: Literal["approve", "deny", "text"]
    """The kind of the answer."""
    scope: Literal["call", "task", "always"] = "call"
    """Of an approval, what it holds for."""
    text: str = ""
    """The answer to a question, or the reason of a denial."""

    def read(self) -> Answer | str:
        """Return the answer, or the sentence that says what is wrong with it."""
        match self.answer:
            case "approve" if self.text.strip():
                return "An approval has no text: leave it out, or answer a question with 'text'."
            case "approve":
                return Approve(self.scope)
            case "deny":
                return Deny(self.text)
            case "text" if self.text.strip():
                return Text(self.text)
            case "text":
                return "The text is missing: answer a question in words."


class Steering:
    """Steers tasks through an `Ohm`, as `ohm cancel`, `ohm send`, `ohm answer` and `ohm land` do."""

    def __init__(self, ohm: Ohm, group: TaskGroup, tell: Callable[[Told], None]) -> None:
        """A follow-up that takes long is awaited in `group`; its end is given to `tell`."""
        self._ohm = ohm
        self._group = group
        self._tell = tell

    async def cancel(self, task_id: str, _body: Nothing) -> Result[Done, OhmError]:
        """Stop a task."""
        found = self._ohm.task(task_id)
        if found is not None and found.is_terminal:
            return Ok(Done(message=f"It was over before: {found.status}.", task=task_id))
        with asked_by("page"):
            return _done(await self._ohm.call("task", {"op": "cancel", "id": task_id}), task_id, _CANCELLED)

    async def send(self, task_id: str, body: FollowUp) -> Result[Done, OhmError]:
        """Send a follow-up. It goes on in the process of its task, or here, as another task, where that has settled."""
        call = await self._ohm.begin("task", {"op": "send", "id": task_id, "prompt": body.prompt})
        found = self._ohm.task(task_id)
        if found is not None and found.is_terminal:
            async with aclosing(call.events()) as events:
                async for _ in events:
                    break
        else:
            with anyio.move_on_after(_AT_ONCE_S):
                await call.wait()
        if call.result is not None:
            return _done(call.result, task_id, "The follow-up was answered.")
        self._group.start_soon(self._follow, call, task_id)
        return Ok(Done(message="The follow-up was sent.", task=next(iter(call.task_ids), task_id)))

    async def _follow(self, call: Call, task_id: str) -> None:
        done = _done(await call.wait(), task_id, "The follow-up was answered.")
        message = done.ok_value["message"] if isinstance(done, Ok) else str(done.err_value)
        self._tell(Told(message=message, task=task_id))

    async def land(self, task_id: str, _body: Nothing) -> Result[Done, OhmError]:
        """Make what a task has changed apart to the files of its directory."""
        landed = await self._ohm.land(task_id)
        return landed if isinstance(landed, Err) else Ok(Done(message="Its changes are in your files.", task=task_id))

    async def discard(self, task_id: str, _body: Nothing) -> Result[Done, OhmError]:
        """Remove what a task has changed apart."""
        gone = await self._ohm.discard(task_id)
        return gone if isinstance(gone, Err) else Ok(Done(message="Its changes are discarded.", task=task_id))

    async def answer(self, request_id: str, body: Given) -> Result[Done, OhmError]:
        """Answer a request; a task whose process has ended goes on here."""
        given = body.read()
        if isinstance(given, str):
            return Err(OhmError(code=ErrorCode.INVALID_ANSWER, message=given))
        answered = await self._ohm.answer(request_id, given, by="page")
        if isinstance(answered, Err):
            return answered
        return Ok(Done(message=answered_words(given, "page"), task=answered.ok_value.task_id))


def _done(result: ToolResult, task_id: str, message: str) -> Result[Done, OhmError]:
    """Return what came of a call of `task`; a task that has failed, or was cancelled meanwhile, is an answer too."""
    told = result.details
    task = told.get("task_id")
    task_id = task if isinstance(task, str) else task_id
    if told.get("status") == "cancelled":
        message = _CANCELLED
    elif result.is_error:
        code = f"{told.get('error_code') or ErrorCode.TOOL_FAILED}"
        category = Category(f"{told.get('error_category') or Category.RUNTIME}")
        said = one_line(f"{told.get('error_message') or result.text}")[:_MOST_SAID]
        advice = one_line(f"{told.get('error_advice') or ''}")[:_MOST_SAID]
        return Err(OhmError(code=code, category=category, message=said, advice=advice))
    return Ok(Done(message=message, task=task_id))
