"""Judge a command line of `bash` by patterns: the strictest rule that may apply to any of its commands wins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

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
    deny: tuple[CommandPattern, ...] = ()
    """None of these, whatever else is said."""


def refusal(rules: CommandRules, text: str) -> str | None:
    """Return why a command line is denied, as the end of a sentence; None if it is allowed.

    A line is allowed if each of its commands is certainly one of `allow`, and none may be one of `deny`. A line whose
    commands cannot all be known is denied where any is.
    """
    line = _opened(read_line(text), _DEEPEST)
    found = next((one for one in rules.deny if _may_have(line, one)), None)
    if found is not None:
        return f"it may run '{' '.join(found.words)}'"
    if rules.deny and line.doubt:
        return f"{line.doubt}, and a rule needs to know all commands"
    return None if rules.allow is None else _beyond(line, rules.allow)


def _beyond(line: ShellLine, allowed: tuple[CommandPattern, ...]) -> str | None:
    """Return why a line is more than the allowed commands; None if it is not."""
    if line.doubt:
        return line.doubt
    if not line.is_list:
        why = "it has a substitution, a condition, a loop, a function or an assignment, and only plain commands"
        return f"{why} in a row can be allowed by a pattern"
    for command in line.commands:
        if not any(one.covers(command) for one in allowed):
            words = " ".join("…" if word is None else word for word in command.words)
            return f"no pattern allows '{words}'"
    return None


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
