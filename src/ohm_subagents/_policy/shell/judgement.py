"""Judge a command line of `bash` by patterns: the strictest rule that may apply to any of its commands wins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from ohm_subagents._policy.shell.line import ShellLine, read_line
from ohm_subagents._policy.shell.runners import doubt, runs_text, scripts

if TYPE_CHECKING:
    from ohm_subagents._policy.shell.pattern import CommandPattern

_DEEPEST: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRules:
    """The patterns for the commands of one tool."""

    allow: tuple[CommandPattern, ...] | None = None
    """Only these; None for any."""
    ask: tuple[CommandPattern, ...] = ()
    """These only with an approval; no file can say so yet."""
    deny: tuple[CommandPattern, ...] = ()
    """None of these, whatever else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one command line."""

    verdict: Literal["allow", "ask", "deny"]
    """The strictest that a rule gives."""
    pattern: CommandPattern | None = None
    """The pattern that decided; None if none did, or the line is not clear enough for one."""
    reason: str = ""
    """The reason, as the end of a sentence; empty for `allow`."""


def judge(rules: CommandRules, text: str) -> Judgement:
    """Return the verdict on a command line.

    A line is allowed if each of its commands is certainly one of `allow`, and none may be one of `deny` or `ask`. A
    line whose commands cannot all be known is denied where any is denied, and is asked for where any is.
    """
    line = _opened(read_line(text), _DEEPEST)
    refusals: tuple[tuple[Literal["deny", "ask"], tuple[CommandPattern, ...]], ...]
    refusals = (("deny", rules.deny), ("ask", rules.ask))
    for verdict, patterns in refusals:
        found = next((one for one in patterns if _may_have(line, one)), None)
        if found is not None:
            return Judgement(verdict=verdict, pattern=found, reason=f"it may run '{' '.join(found.words)}'")
        if patterns and line.doubt:
            return Judgement(verdict=verdict, reason=f"{line.doubt}, and a rule needs to know all commands")
    return Judgement(verdict="allow") if rules.allow is None else _only(line, rules.allow)


def _only(line: ShellLine, allowed: tuple[CommandPattern, ...]) -> Judgement:
    if line.doubt:
        return Judgement(verdict="deny", reason=line.doubt)
    if not line.is_list:
        why = "it has a substitution, a condition, a loop, a function or an assignment, and only plain commands"
        return Judgement(verdict="deny", reason=f"{why} in a row can be allowed by a pattern")
    for command in line.commands:
        if not any(one.covers(command) for one in allowed):
            words = " ".join("…" if word is None else word for word in command.words)
            return Judgement(verdict="deny", reason=f"no pattern allows '{words}'")
    return Judgement(verdict="allow")


def _may_have(line: ShellLine, pattern: CommandPattern) -> bool:
    """Return True if any command of the line may be one of the pattern."""
    is_text_run = any(map(runs_text, line.commands))
    return any(pattern.may_be(command, is_text_run=is_text_run) for command in line.commands)


def _opened(line: ShellLine, depth: int) -> ShellLine:
    """Return the line with the commands of the texts that its shells are given, and with what is doubtful in them."""
    writes = any(not command.is_plain for command in line.commands) or len(line.commands) > 1
    reasons = [line.doubt, *(doubt(command, writes=writes) for command in line.commands)]
    texts = [text for command in line.commands for text in scripts(command)]
    if texts and not depth:
        reasons.append("shells are nested too deep in it")
    inner = [_opened(read_line(text), depth - 1) for text in texts] if depth else []
    return replace(
        line,
        commands=(*line.commands, *(command for one in inner for command in one.commands)),
        doubt=next((why for why in (*reasons, *(one.doubt for one in inner)) if why), ""),
        is_list=line.is_list and not texts,
    )
