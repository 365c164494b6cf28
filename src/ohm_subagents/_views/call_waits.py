"""The waits of tool calls for answers, which are no work of the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents.contract.requests import AnswerAwaited, AnswerGiven

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract.events import Recorded
    from ohm_subagents.contract.requests import Request


class CallWait(NamedTuple):
    """A call has waited to be approved, or has asked something itself."""

    call_id: str
    """The id of the call in its run."""
    asked_ms: int
    """The time at which it was asked, in epoch milliseconds."""
    answered_ms: int
    """The time of the answer."""


def ended_waits(requests: Iterable[Request], event: AnswerGiven, *, at_ms: int) -> tuple[CallWait, ...]:
    """Return the wait that an answer ends, which is to one of these requests; none if it is to no call of a tool."""
    asked = [one for one in requests if one.id == event.request_id and one.call_id]
    return tuple(CallWait(one.call_id, one.asked_ms, at_ms) for one in asked)


def call_waits(history: Iterable[Recorded]) -> tuple[CallWait, ...]:
    """Return the waits that the events of a task tell of."""
    requests: list[Request] = []
    waits: tuple[CallWait, ...] = ()
    for at_ms, event in ((one.at_ms, one.event) for one in history):
        if isinstance(event, AnswerAwaited):
            requests.append(event.request)
        elif isinstance(event, AnswerGiven):
            waits += ended_waits(requests, event, at_ms=at_ms)
    return waits


def waited_ms(call_id: str, waits: Iterable[CallWait], *, began_ms: int | None, ended_ms: int | None) -> int:
    """Return for how long a call has waited for answers; None for a time that is not known, or has not come."""
    if began_ms is None:
        return 0
    own = (one for one in waits if one.call_id == call_id and one.asked_ms >= began_ms)
    return sum(one.answered_ms - one.asked_ms for one in own if ended_ms is None or one.answered_ms <= ended_ms)
