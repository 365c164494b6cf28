"""Judge a call of a tool by the rules of a run. The strictest of all files' rules wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ohm_subagents._config.tool_rules import fold_tool, has_tool
from ohm_subagents._policy.arguments import ArgumentCall
from ohm_subagents._policy.ground import Ground
from ohm_subagents._policy.paths import PathCall
from ohm_subagents._policy.shell.judgement import ShellCall
from ohm_subagents.contract.call_rules import ANY_CALL, PATH_TOOLS, RULED_TOOL
from ohm_subagents.contract.profile import Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.contract.call_rules import CallRules

_ALLOWED: Final = Decision(verdict="allow", source="default")


class _Call(Protocol):
    """A call of a tool, as its patterns see it."""

    def beyond(self, allowed: tuple[str, ...], ground: Ground, /) -> str | None:
        """Return why the call is not certainly one of the allowed ones, as the end of a sentence; None if it is.

        `ground`: the directory that the patterns were written for.
        """
        ...

    def may_be(self, patterns: tuple[str, ...], ground: Ground, /) -> str | None:
        """Return why the call may be one of the patterns, as the end of a sentence; None if it is none."""
        ...


def judge_call(rules: Sequence[CallRules], tool: str, arguments: Mapping[str, JsonValue], *, cwd: Path) -> Decision:
    """Return the verdict of the rules on a call of a child tool in a directory, with the file and the reason.

    Any deny wins, then any ask that somebody wrote, then one of a built-in profile. A command is judged as bash reads
    it, a path by the place where it leads.
    """
    asks: list[Decision] = []
    for decision in judgements(rules, tool, arguments, cwd=cwd):
        if decision.verdict == "deny":
            return decision
        if decision.verdict == "ask":
            asks.append(decision)
    return min(asks, key=lambda one: one.is_default) if asks else _ALLOWED


def judgements(
    rules: Sequence[CallRules], tool: str, arguments: Mapping[str, JsonValue], *, cwd: Path
) -> Iterator[Decision]:
    """Yield the verdict of each of the rules that are for a tool, in their order."""
    found = [one for one in rules if has_tool((one.tool,), tool)]
    if not found:
        return
    call = _call_of(fold_tool(tool), arguments, cwd)
    for one in found:
        verdict, reason = _judged(one, call, Ground.of(one, cwd))
        yield Decision(
            verdict=verdict, source=one.source, reason=reason, is_default=one.is_default and verdict == "ask"
        )


def refusal_sentence(decision: Decision, tool: str) -> str:
    """Return the sentence by which a model reads that a call was not made."""
    what = "The command was not run" if fold_tool(tool) == RULED_TOOL else f"The call of '{tool}' was not made"
    place = f" ({decision.source})" if decision.source else ""
    why = "denies it" if decision.verdict == "deny" else "demands that somebody allows it, and nobody could be asked"
    return (
        f"{what}, because a rule of this subagent {why}{place}: {decision.reason}. "
        "Do it in another way that the rules allow, or say what you could not do."
    )


def _judged(rules: CallRules, call: _Call, ground: Ground) -> tuple[Verdict, str]:
    """Return the verdict of one file's rules, and the reason."""
    why = call.may_be(rules.deny, ground) if rules.deny else None
    if why is None and rules.allow is not None:
        why = call.beyond(rules.allow, ground)
    if why is not None:
        return "deny", why
    if ANY_CALL in rules.ask:
        return "ask", "every call of it needs an approval"
    why = call.may_be(rules.ask, ground) if rules.ask else None
    return ("allow", "") if why is None else ("ask", why)


def _call_of(tool: str, arguments: Mapping[str, JsonValue], cwd: Path) -> _Call:
    if tool == RULED_TOOL:
        return ShellCall.of(arguments, cwd)
    return PathCall.of(tool, arguments, cwd) if tool in PATH_TOOLS else ArgumentCall(arguments)
