"""The loop guard: finds a run that repeats its tool calls. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from ohm_subagents.contract.commands import StartItem
    from ohm_subagents.contract.limits import LoopPolicy, LoopStep


@dataclass(frozen=True, slots=True)
class Trip:
    """A rule that was met.

    Fields:
        step: what to do about it.
        message: the fact, in one sentence.
    """

    step: LoopStep
    message: str


class LoopWatch:
    """Counts repetitions of tool calls and of their results, as the policy says."""

    def __init__(self, policy: LoopPolicy) -> None:
        self._policy = policy
        self._newest: str | None = None
        self._before: str | None = None
        self._identical = 0
        self._alternating = 0
        self._result: tuple[str, str] | None = None
        self._same_results = 0
        self._is_warned = False
        self._taken: dict[str, int] = {}

    def called(self, tool: str, args: str) -> Trip | None:
        """Count a tool call that began."""
        if tool in self._policy.polling:
            return None
        call = f"{tool}:{_canonical(args)}"
        repeats = call == self._newest
        self._identical = self._identical + 1 if repeats else 1
        self._alternating = self._alternating + 1 if not repeats and call == self._before else 0
        self._newest, self._before = call, self._newest
        identical = self._trip(
            "identical",
            self._identical,
            self._policy.identical_calls,
            f"The tool {tool} was called {self._identical} times in a row with the same arguments.",
        )
        pairs = (self._alternating + 2) // 2
        return identical or self._trip(
            "alternating",
            self._alternating,
            self._policy.alternations and 2 * self._policy.alternations - 2,
            f"The same two tool calls took turns {pairs} times, the newest to {tool}.",
        )

    def answered(self, tool: str, text: str) -> Trip | None:
        """Count a tool call that ended."""
        self._is_warned = False
        if tool in self._policy.polling or not text:
            return None
        self._same_results = self._same_results + 1 if (tool, text) == self._result else 1
        self._result = (tool, text)
        return self._trip(
            "same result",
            self._same_results,
            self._policy.same_results,
            f"The tool {tool} gave the same result {self._same_results} times in a row.",
        )

    def _trip(self, rule: str, count: int, limit: int, message: str) -> Trip | None:
        """Return the next step of a rule that is met; calls made at once take one, as no warning fits between them."""
        steps = self._policy.steps
        if not limit or not steps:
            return None
        if count < limit:
            self._taken[rule] = 0
            return None
        if self._is_warned:
            return None
        self._is_warned = True  # until a result comes back
        taken = self._taken.get(rule, 0)
        self._taken[rule] = taken + 1
        return Trip(steps[min(taken, len(steps) - 1)], message)


def _canonical(args: str) -> str:
    """Return the arguments with their keys in order: models write the same call in different ways."""
    try:
        return json.dumps(json.loads(args), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return args


def went_in_circles(message: str, item: StartItem) -> OhmError:
    """Return the error of a run that was stopped for a loop."""
    place = "the polling list of the subagent" if item.has_settings else "subagents.loop.polling of ohm.json"
    # a suite with a loop rule of its own has no such list
    polling = "" if item.overrides.loop is not None else f", or name a tool that is meant to repeat in {place}"
    return OhmError(
        code=ErrorCode.LOOP_DETECTED,
        message=message,
        advice=f"The subagent went in circles; what it did until then is kept. Give it a clearer task{polling}.",
    )
