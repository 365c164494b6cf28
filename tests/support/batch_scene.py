"""Twelve tasks that were started together: in every state, with titles and words as long as those of real ones."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING

from made_tasks import queued_task

from ohm_subagents.contract import (
    AccountCharged,
    AnswerAwaited,
    Cancelled,
    ErrorCode,
    Event,
    Failed,
    OhmError,
    Request,
    RunEnded,
    RunStarted,
    Succeeded,
    Task,
    TaskId,
    TaskSettled,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
    apply,
)

if TYPE_CHECKING:
    from ohm_subagents.contract import Outcome

NOW_MS = 75_000
TITLES = (
    "Is the lock held across the await?",
    "Who calls parse_config?",
    "Should the next release be a major one?",
    "Review the retry policy",
    "Trace the flaky test",
    "Look for dead code in the store",
    "Check the schema of the envelope",
    "Does the cache ever expire?",
    "Find every login",
    "Compare both parsers",
    "Which tests are slow?",
    "Count the fixtures",
)
QUESTION = Request(
    id="req_1",
    task_id=TaskId("task_3"),
    session_id="session_1",
    path=("task_3",),
    profile="finder",
    kind="question",
    question="The change of parse_config breaks callers that pass bytes. Should the next release be 2.4.1, which hides "
    "the break, or 3.0.0, which tells everybody about it?",
    options=("2.4.1", "3.0.0"),
)
LIMITED = OhmError(
    code=ErrorCode.PROVIDER_RATE_LIMITED,
    message="Provider anthropic is rate-limited: it refuses requests of this key for the next 37 seconds.",
    advice="Try again in a minute, or use another model.",
    retryable=True,
)
BROKEN = OhmError(
    code=ErrorCode.BACKEND_FAILED, message="The answer has no field 'verdict', which its schema requires."
)
LOOKING = "Nothing imports `_rows`; I look at the tests."
CACHE = (
    "No entry of the cache expires: `Cache.put` takes a time to live, and nothing reads it. The oldest entry in the "
    "directory is from last March.\n\nThree callers rely on that."
)
LOGIN = "## Logins\n\n- `src/auth.py:12` checks the password\n- `src/api/token.py:40` checks a token\n"
PARSERS = "Both read the same files alike. Only the old one takes a comment at the end of a line."


def played(number: int, *events: Event, step_ms: int = 2_000) -> Task:
    """One of them, to which these have happened."""
    title = TITLES[number - 1]
    task = queued_task(f"task_{number}", description=title, prompt=title, created_ms=0)
    stamped = zip(range(5_000, NOW_MS, step_ms), events, strict=False)
    return reduce(lambda state, one: apply(state, one[1], at_ms=one[0]), stamped, task)


def called(number: int, tool: str, text: str | None, **arguments: object) -> list[Event]:
    """A tool call; without a text it goes on."""
    begun = ToolStarted(call_id=f"{number}", tool=tool, args=json.dumps(arguments))
    return [begun] if text is None else [begun, ToolEnded(call_id=f"{number}", tool=tool, status="success", text=text)]


def used(cost: str) -> UsageAdded:
    """The cost of a request."""
    return UsageAdded(usage=Usage(requests=1, input_tokens=4_000, output_tokens=200, cost_usd=Decimal(cost)))


def over(outcome: Outcome, output: str = "") -> list[Event]:
    """The end of a task."""
    return [RunEnded(outcome=outcome, output=output), TaskSettled(outcome=outcome)]


def batch_tasks() -> list[Task]:
    """All of them, as they are at `NOW_MS`."""
    begun, read = RunStarted(prompt="p"), called(1, "read", "a\n" * 40, path="src/config/loading.py")
    slow, quick = (
        called(2, "bash", None, command=command)
        for command in ("python -X dev scripts/trace_locks.py --all", "pytest -q tests/test_retry.py -k 'not slow'")
    )
    below = AccountCharged(usage=Usage(requests=3, cost_usd=Decimal("0.0900")))
    return [
        played(1, begun, *read, used("0.0210"), *slow),
        played(2, begun, *read, used("0.0140"), below, step_ms=9_000),
        played(3, begun, *read, used("0.0175"), AnswerAwaited(request=QUESTION)),
        played(4, begun, *read, used("0.0300"), *quick, step_ms=13_000),
        played(5, begun, *read, used("0.0042"), *over(Failed(error=LIMITED))),
        played(6, begun, used("0.0051"), TextDelta(text=LOOKING), step_ms=34_000),
        played(7, begun, *read, used("0.0099"), *over(Failed(error=BROKEN), '{"note": 1}')),
        played(8, begun, *read, used("0.0123"), *over(Succeeded(), CACHE)),
        played(9, begun, *read, used("0.0088"), below, *over(Succeeded(), LOGIN)),
        played(10, begun, *read, used("0.0070"), *over(Succeeded(), PARSERS)),
        played(11, begun, *read, used("0.0010"), *over(Cancelled(reason="It was cancelled on the page."))),
        replace(played(12), status="queued"),
    ]
