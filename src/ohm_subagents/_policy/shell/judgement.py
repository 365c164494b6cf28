"""Judge a command line of `bash` by patterns: the strictest rule that may apply to any of its commands wins."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ohm_subagents._policy.shell.effects import effect
from ohm_subagents._policy.shell.git import git_doubt
from ohm_subagents._policy.shell.line import ShellLine, read_line
from ohm_subagents._policy.shell.pattern import CommandPattern
from ohm_subagents._policy.shell.runners import build_doubt, doubt, runs_text, scripts
from ohm_subagents._records import dataclass
from ohm_subagents.contract.call_rules import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents._policy.ground import Ground

_COMMAND: Final = "command"
_NO_COMMAND: Final = f"its argument '{_COMMAND}' is no text"
_DEEPEST: Final = 8


@dataclass(frozen=True, slots=True)
class ShellCall:
    """A call of `bash` by the commands that its line may run."""

    line: ShellLine | None
    """The line, with the commands of the texts that its shells are given; None for a call without one."""
    cwd: Path
    """The directory that it is run in."""

    @classmethod
    def of(cls, arguments: Mapping[str, JsonValue], cwd: Path) -> ShellCall:
        """Read the command line of a call."""
        command = arguments.get(_COMMAND)
        return cls(_opened(read_line(command), _DEEPEST) if isinstance(command, str) else None, cwd)

    def beyond(self, allowed: tuple[str, ...], _ground: Ground) -> str | None:
        """Return why the line is more than the allowed commands; None if each of its commands certainly is one."""
        line = self.line
        if line is None:
            return _NO_COMMAND
        if line.doubt:
            return line.doubt
        if not line.is_list:
            why = "it has a substitution, a condition, a loop, a function or an assignment, and only plain commands"
            return f"{why} in a row can be allowed by a pattern"
        patterns = [_pattern(one) for one in allowed]
        for command in line.commands:
            if not any(one.covers(command) for one in patterns):
                words = " ".join("…" if word is None else word for word in command.words)
                return f"no pattern allows '{words}'"
        return None

    def may_be(self, patterns: tuple[str, ...], ground: Ground) -> str | None:
        """Return why any command of the line may be one of the patterns; None if none is.

        A line whose commands cannot all be known may be one of any.
        """
        line = self.line
        if line is None:
            return _NO_COMMAND
        for one in patterns:
            if one in EFFECTS:
                found = effect(one, line, self.cwd, ground)
                if found is not None:
                    return f"'{found}' {EFFECTS[one]}"
            elif _may_have(line, _pattern(one)):
                return f"it may run '{one}'"
        why = line.doubt or git_doubt(line) or build_doubt(line)
        return f"it may run any command: {why}" if why else None


@lru_cache(maxsize=256)
def _pattern(text: str) -> CommandPattern:
    return CommandPattern.parse(text)


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
