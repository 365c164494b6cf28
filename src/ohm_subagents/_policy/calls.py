"""Judge a call of a tool by the rules of a run. The strictest of all files' rules wins."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ohm_subagents._policy.shell.judgement import CommandRules, refusal
from ohm_subagents._policy.shell.pattern import CommandPattern
from ohm_subagents.contract.call_rules import RULED_TOOL
from ohm_subagents.contract.profile import Decision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from ohm_subagents.contract.call_rules import CallRules

_COMMAND: Final = "command"
_ALLOWED: Final = Decision(verdict="allow", source="default")


def judge_call(rules: Sequence[CallRules], tool: str, arguments: Mapping[str, JsonValue]) -> Decision:
    """Return the verdict of the rules on a call of a child tool: `deny` with the file and the reason, or `allow`.

    Only a call of `bash` is ever denied, by its argument `command`.
    """
    if not rules or tool.strip().casefold() != RULED_TOOL:
        return _ALLOWED
    command = arguments.get(_COMMAND)
    if not isinstance(command, str):
        return Decision(verdict="deny", source=rules[0].source, reason=f"its argument '{_COMMAND}' is no text")
    for one in rules:
        reason = refusal(_compiled(one), command)
        if reason is not None:
            return Decision(verdict="deny", source=one.source, reason=reason)
    return _ALLOWED


def refused_call(rules: Sequence[CallRules], tool: str, arguments: Mapping[str, JsonValue]) -> str | None:
    """Return the sentence that refuses a call of a child tool, for the model; None if the rules let it through.

    Ask before each call of a tool, with `RunRequest.call_rules`.
    """
    decision = judge_call(rules, tool, arguments)
    if decision.verdict == "allow":
        return None
    place = f" ({decision.source})" if decision.source else ""
    return (
        f"The command was not run, because a rule of this subagent denies it{place}: {decision.reason}. "
        "Do it in another way that the rules allow, or say what you could not do."
    )


@lru_cache(maxsize=256)
def _compiled(rules: CallRules) -> CommandRules:
    return CommandRules(
        allow=None if rules.allow is None else tuple(map(CommandPattern.parse, rules.allow)),
        deny=tuple(map(CommandPattern.parse, rules.deny)),
    )
