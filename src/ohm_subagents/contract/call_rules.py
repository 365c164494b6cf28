"""Rules for the calls of a tool by their arguments, as `bash: git push *`, beside the lists of whole tools."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RULED_TOOL: Final = "bash"
"""The tool whose patterns are commands."""
PATH_TOOLS: Final = ("read", "write", "edit", "grep", "find", "ls", "code_search")
"""The tools whose patterns are paths."""
TREE_TOOLS: Final = ("grep", "find", "code_search")
"""Those of them that read everything below a directory."""
EFFECTS: Final[Mapping[str, str]] = MappingProxyType(
    {"@network": "may reach the network", "@outside": "may write outside the working directory, or change the machine"}
)
"""The patterns of `bash` that stand for all commands with an effect, and the effect in words."""
ANY_CALL: Final = "*"
"""The pattern that is every call of a tool."""
_SEPARATOR: Final = ":"
_EFFECT_NAMES: Final = " and ".join(f"'{one}'" for one in EFFECTS)
_ARGUMENT: Final = re.compile(r"[\w.-]+\s*=\s*\S.*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneOf:
    """A directory that stands for another one: calls are made in it, and rules were written for the other."""

    original: str
    """The directory that rules were written for."""
    clone: str
    """The directory with its files in which calls are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRules:
    """The rules of one file for the calls of one tool; deny wins over ask, and ask over allow."""

    tool: str = RULED_TOOL
    """The tool; `*` in it stands for any characters."""
    allow: tuple[str, ...] | None = None
    """Only calls that certainly are one of these; None for any."""
    ask: tuple[str, ...] = ()
    """Somebody is asked before a call that may be one of these; `*` is every call."""
    deny: tuple[str, ...] = ()
    """No call that may be one of these."""
    source: str = ""
    """The place of the rules: a file, with the line where it is known."""
    cwd: str = ""
    """The directory that relative paths begin at; empty for that of the call."""
    clones: tuple[CloneOf, ...] = ()
    """The clones that calls are made in, the outermost first: a path in one is judged as that of the original."""
    or_none: bool = False
    """True if the tool is not given on a backend that cannot keep the rules; with others, it refuses the run."""
    is_default: bool = False
    """True for rules that come with a built-in profile: where nobody can answer, what they ask about is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLists:
    """The lists of tools of one file, read: whole tools, and the rules for calls."""

    allowed: tuple[str, ...] | None
    """The tools that are given; None without a list."""
    denied: tuple[str, ...]
    """The tools that are taken away."""
    rules: tuple[CallRules, ...]
    """The rules for calls, one a tool."""


def split_calls(
    allowed: tuple[str, ...] | None, denied: tuple[str, ...], asked: tuple[str, ...] = (), *, source: str = ""
) -> Result[ToolLists, str]:
    """Take the rules for calls out of the lists of tools of one file.

    The tool of an allowed call is allowed; a tool that is allowed whole needs no rule. A tool that is asked about is
    not thereby allowed. Returns a sentence on the first entry that is no rule.
    """
    entries = (*((entry, False) for entry in allowed or ()), *((entry, True) for entry in (*asked, *denied)))
    fault = next((why for entry, restricts in entries if (why := _fault(entry, restricts=restricts))), None)
    if fault is not None:
        return Err(fault)
    names = tuple(entry for entry in allowed or () if not is_call_rule(entry))
    whole = {_fold(name) for name in names}
    calls, refused, questions = _patterns(allowed or ()), _patterns(denied), _patterns(asked)
    for entry in asked:
        if not is_call_rule(entry):
            questions.setdefault(_fold(entry), []).append(ANY_CALL)
    rules = tuple(
        CallRules(
            tool=tool,
            allow=tuple(calls[tool]) if tool in calls and tool not in whole else None,
            ask=tuple(questions.get(tool, ())),
            deny=tuple(refused.get(tool, ())),
            source=source,
        )
        for tool in dict.fromkeys((*calls, *questions, *refused))
        if tool not in whole or tool in questions or tool in refused
    )
    given = None if allowed is None else (*names, *(tool for tool in calls if tool not in whole))
    return Ok(ToolLists(allowed=given, denied=tuple(entry for entry in denied if not is_call_rule(entry)), rules=rules))


def is_call_rule(entry: str) -> bool:
    """Return True if an entry of a list of tools is a rule for calls, and no name of a tool."""
    tool, found, pattern = entry.partition(_SEPARATOR)
    return bool(found) and (pattern[:1].isspace() or _fold(tool) in (RULED_TOOL, *PATH_TOOLS))


def entry_of(tool: str, pattern: str) -> str:
    """Return a rule as a list of tools has it: `bash: git push *`, or the tool alone for all of its calls."""
    return tool if pattern == ANY_CALL else f"{tool}{_SEPARATOR} {pattern}"


def _patterns(entries: Iterable[str]) -> dict[str, list[str]]:
    """Return the patterns of the rules by tool, in their order."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        if is_call_rule(entry):
            tool, _, pattern = entry.partition(_SEPARATOR)
            words = pattern.split() if _fold(tool) == RULED_TOOL else [pattern.strip()]
            found.setdefault(_fold(tool), []).append(" ".join(words))
    return found


def _fold(tool: str) -> str:
    return tool.strip().casefold()


def _fault(entry: str, *, restricts: bool) -> str | None:
    """Return why an entry is no rule; one that `restricts` is asked about or denied."""
    if not is_call_rule(entry):
        return None
    tool, _, pattern = entry.partition(_SEPARATOR)
    name, pattern = tool.strip(), pattern.strip()
    if _fold(tool) == RULED_TOOL:
        return _command_fault(entry, pattern, restricts=restricts)
    if _fold(tool) in PATH_TOOLS:
        if not pattern or pattern == ANY_CALL:
            return f"'{entry}' names no path; a rule is like '{name}: src/**', and '{name}' alone is every call"
        is_sound = pattern.isprintable() and (not pattern.startswith("~") or pattern.startswith("~/"))
        return None if is_sound else f"'{entry}' is no path; a rule is like '{name}: src/**' or '{name}: ~/notes/**'"
    if _ARGUMENT.fullmatch(pattern) is None:
        return (
            f"'{entry}' names no argument; a rule for calls of '{name}' is like '{name}: branch=main', with one of its "
            f"arguments and a pattern for the value. {did_you_mean(name, (RULED_TOOL, *PATH_TOOLS))}".rstrip(". ")
        )
    return None


def _command_fault(entry: str, pattern: str, *, restricts: bool) -> str | None:
    words = pattern.split()
    if not words or words[0] == ANY_CALL:
        return f"'{entry}' names no command; a rule is like '{RULED_TOOL}: git push *'"
    if not words[0].startswith("@"):
        return None
    if len(words) > 1 or words[0] not in EFFECTS:
        return f"'{entry}' is no rule; with '@' there are {_EFFECT_NAMES}"
    return None if restricts else f"'{entry}' allows nothing: '{words[0]}' can be asked about or denied"
