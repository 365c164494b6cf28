"""The events of a task as updates of a session."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from acp.helpers import update_agent_message_text, update_agent_thought_text, update_user_message_text
from acp.schema import Cost, ToolCallProgress, ToolCallStart, UsageUpdate

from ohm_subagents.acp.plan import plan_of_call, plan_of_result
from ohm_subagents.acp.tool_calls import ToolCall, output_content
from ohm_subagents.contract import (
    AccountCharged,
    AgentEnded,
    AnswerAwaited,
    AnswerGiven,
    Checkpointed,
    DiagnosticRaised,
    FeedRead,
    FileChanged,
    Finalized,
    FollowUpTaken,
    GuardTripped,
    ModelSelected,
    OutcomeChecked,
    RequestHeld,
    RequestReleased,
    RouteResolved,
    RunEnded,
    RunStarted,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
    WorkspaceKept,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from acp.schema import (
        AgentMessageChunk,
        AgentPlanUpdate,
        AgentThoughtChunk,
        ConfigOptionUpdate,
        CurrentModeUpdate,
        SessionInfoUpdate,
        UserMessageChunk,
    )

    from ohm_subagents import OhmError
    from ohm_subagents.contract import Event

    Update = (
        AgentMessageChunk
        | AgentThoughtChunk
        | UserMessageChunk
        | ToolCallStart
        | ToolCallProgress
        | AgentPlanUpdate
        | UsageUpdate
        | SessionInfoUpdate
        | CurrentModeUpdate
        | ConfigOptionUpdate
    )


class TaskUpdates:
    """Writes the events of one task, in their order, as an editor shows them."""

    def __init__(self, task_id: str, cwd: Path, *, used_before: Usage | None = None, is_past: bool = False) -> None:
        """`used_before`: by earlier tasks of the session. `is_past`: the prompts are shown too, and no usage."""
        self._task_id = task_id
        self._cwd = cwd
        self._used = Usage() if used_before is None else used_before
        self._is_past = is_past
        self._count = 0
        self._open: dict[str, ToolCall] = {}
        self._said: list[str] = []
        self._route = RouteResolved()

    def of(self, event: Event) -> Iterator[Update]:  # noqa: C901, PLR0912  one arm an event
        """Yield the updates for one event."""
        match event:
            case TextDelta(text=text):
                self._said.append(text)
                yield update_agent_message_text(text)
            case ThinkingDelta(text=text):
                yield update_agent_thought_text(text)
            case ToolStarted():
                yield from self._started(event)
            case ToolUpdated():
                yield from self._updated(event)
            case ToolEnded():
                yield from self._ended(event)
            case UsageAdded(usage=usage):
                yield from self._usage(usage)
            case AccountCharged(usage=usage):  # told with the next usage of its own
                self._used += usage or Usage()
            case RouteResolved():
                self._route = event
            case DiagnosticRaised(diagnostic=note):
                yield update_agent_thought_text(f"{note.message}\n")
            case GuardTripped(message=message):
                yield update_agent_thought_text(f"{message}\n")
            case RunStarted(prompt=prompt, is_follow_up=True) | FollowUpTaken(prompt=prompt):
                self._said.clear()
                if self._is_past:
                    yield update_user_message_text(prompt)
            case RunStarted():
                self._said.clear()
            case RunEnded(output=output):
                if not _has(self._said, output):  # handed in by a tool, or by a backend that does not stream
                    yield update_agent_message_text(f"\n\n{output}" if self._said else output)
            case (
                FileChanged()
                | WorkspaceKept()
                | OutcomeChecked()
                | Checkpointed()
                | Finalized()
                | AgentEnded()
                | TaskQueued()
                | RequestHeld()
                | RequestReleased()
                | AnswerAwaited()
                | AnswerGiven()
                | ModelSelected()
                | FeedRead()
                | TaskSettled()
            ):
                pass

    def open_call(self, call_id: str) -> ToolCall | None:
        """Return the call of this id that goes on; None for one of another task."""
        return self._open.get(call_id)

    def failed(self, error: OhmError) -> Update:
        """Return the message that says why the task has failed, after what the subagent said."""
        return update_agent_message_text(f"\n\n{error}" if self._said else f"{error}")

    def _started(self, event: ToolStarted) -> Iterator[Update]:
        self._count += 1
        call = self._open[event.call_id] = ToolCall(f"{self._task_id}-{self._count}", event, self._cwd)
        yield ToolCallStart(
            session_update="tool_call",
            tool_call_id=call.id,
            title=call.title,
            kind=call.kind,
            status="in_progress",
            content=call.change,
            locations=None if call.locations is None else [*call.locations],
            raw_input=call.arguments,
        )
        plan = plan_of_call(event.tool, event.args)
        if plan is not None:
            yield plan

    def _updated(self, event: ToolUpdated) -> Iterator[Update]:
        call = self._open.get(event.call_id)
        if call is not None and event.text.strip():
            yield ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=call.id,
                status="in_progress",
                content=output_content(event.text),
            )

    def _ended(self, event: ToolEnded) -> Iterator[Update]:
        call = self._open.pop(event.call_id, None)
        if call is None:  # of the past, only the newest events may be kept
            return
        is_done = event.status == "success"
        yield ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=call.id,
            status="completed" if is_done else "failed",
            content=(call.change if is_done else None) or output_content(event.text),
        )
        plan = plan_of_result(event.tool, event.text)
        if plan is not None:
            yield plan

    def _usage(self, usage: Usage) -> Iterator[Update]:
        """Tell the use of the context, where its size is known, and the cost of the session so far."""
        self._used += usage
        size = context_window(self._route.provider, self._route.model)
        if size is None or self._is_past:
            return
        cost = None if self._used.cost_usd is None else Cost(amount=float(self._used.cost_usd), currency="USD")
        used = usage.input_tokens + usage.output_tokens
        if used:
            yield UsageUpdate(session_update="usage_update", used=used, size=size, cost=cost)


def _has(said: list[str], output: str) -> bool:
    """Return True if the answer was streamed; a backend may join its parts by other white space."""
    return "".join(output.split()) in "".join("".join(said).split())


@lru_cache(maxsize=64)
def context_window(provider: str, model: str) -> int | None:
    """Return the context window of a model, in tokens, by the list that prices come from; None if that lacks it."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, provider, None)[1].context_window
    except LookupError:
        return None
