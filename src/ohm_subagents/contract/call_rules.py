"""Rules for the calls of a tool by their arguments, as `bash: git push *`, beside the lists of whole tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterable

RULED_TOOL: Final = "bash"
"""The tool whose calls can be ruled."""
_SEPARATOR: Final = ":"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRules:
    """The rules of one file for the commands of `bash`, each a pattern as `git push *`."""

    allow: tuple[str, ...] | None = None
    """Only these commands; None for any."""
    deny: tuple[str, ...] = ()
    """None of these, also not inside of another command."""
    source: str = ""
    """The place of the rules: a file, with the line where it is known."""


def split_calls(
    allowed: tuple[str, ...] | None, denied: tuple[str, ...], *, source: str = ""
) -> Result[tuple[tuple[str, ...] | None, tuple[str, ...], CallRules | None], str]:
    """Take the rules for calls out of two lists of tools; return the lists of whole tools, and the rules if there are.

    The tool of an allowed call is in the first list; a tool that is allowed whole needs no rule. Returns a sentence on
    the first entry that is no rule.
    """
    fault = next((why for entry in (*(allowed or ()), *denied) if (why := _fault(entry))), None)
    if fault is not None:
        return Err(fault)
    calls, refused = _patterns(allowed or ()), _patterns(denied)
    if not calls and not refused:
        return Ok((allowed, denied, None))
    names = tuple(entry for entry in allowed or () if not is_call_rule(entry))
    is_whole = any(name.strip().casefold() == RULED_TOOL for name in names)
    rules = CallRules(allow=None if is_whole or not calls else calls, deny=refused, source=source)
    given = (*names, RULED_TOOL) if calls and not is_whole else names
    taken = tuple(entry for entry in denied if not is_call_rule(entry))
    return Ok((None if allowed is None else given, taken, rules))


def is_call_rule(entry: str) -> bool:
    """Return True if an entry of a list of tools is a rule for calls, and no name of a tool."""
    tool, found, pattern = entry.partition(_SEPARATOR)
    return bool(found) and (pattern[:1].isspace() or tool.strip().casefold() == RULED_TOOL)


def _patterns(entries: Iterable[str]) -> tuple[str, ...]:
    found = (entry.partition(_SEPARATOR)[2] for entry in entries if is_call_rule(entry))
    return tuple(" ".join(pattern.split()) for pattern in found)


def _fault(entry: str) -> str | None:
    tool, _, pattern = entry.partition(_SEPARATOR)
    if not is_call_rule(entry):
        return None
    if tool.strip().casefold() != RULED_TOOL:
        return f"'{entry}' is a rule for calls of '{tool.strip()}'; only calls of '{RULED_TOOL}' can be ruled"
    if not pattern.split() or pattern.split()[0] == "*":
        return f"'{entry}' names no command; a rule is like '{RULED_TOOL}: git push *'"
    return None
