"""The tools of one subagent, as the files together give and take them.

The user's file decides: it may give a subagent more tools than its profile does. A project's file only takes away.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.contract.call_rules import CallRules, entry_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

WILDCARD: Final = "*"
"""In a list of tools, any characters."""


def fold_tool(name: str) -> str:
    """Return the name of a tool as it is compared: `Bash` is `bash`."""
    return name.strip().casefold()


def has_tool(names: tuple[str, ...] | None, name: str) -> bool:
    """Return True if a list has the tool, in any case of letters; no list has every tool.

    `*` in a name of the list stands for any characters. A list has a name with `*` if it has all that this stands for.
    """
    if names is None:
        return True
    folded = fold_tool(name)
    return any(folded == one or (WILDCARD in one and _matches(one, folded)) for one in map(fold_tool, names))


def common_tools(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tools that both lists have, those of the first list first, as far as one name stands for them."""
    kept = tuple(name for name in first if has_tool(second, name))
    return (*kept, *(name for name in second if has_tool(first, name) and not has_tool(kept, name)))


@lru_cache(maxsize=256)
def _matches(pattern: str, name: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(WILDCARD))), name, re.DOTALL) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """The tools that the configuration gives one subagent, and those that it takes away."""

    allowed: tuple[str, ...] | None = None
    """The list in place of the profile's; None leaves that one."""
    denied: tuple[str, ...] = ()
    """Tools that are taken away from the list that holds."""
    at_most: tuple[str, ...] | None = None
    """A project's list: a tool that it does not name is not given, and it gives none that the others do not."""
    allowed_rules: tuple[CallRules, ...] = ()
    """The rules for calls that come with the list `allowed`."""
    call_rules: tuple[CallRules, ...] = ()
    """The other rules for calls, which every call has to pass."""
    source: str = ""
    """The place of the last rule: `file:line`."""
    unclear: str = ""
    """The fault of the rules, which keeps the subagent from running; empty for sound ones."""

    def at_most_these(self) -> ToolRules:
        """Return the same rules, which only take tools away."""
        calls = (*self.allowed_rules, *self.call_rules)
        return replace(
            self, allowed=None, at_most=_common(self.allowed, self.at_most), allowed_rules=(), call_rules=calls
        )

    def as_json(self) -> dict[str, JsonValue]:
        """Return the rules as ohm.json may have them."""
        allowed = () if self.unclear else _common(self.allowed, self.at_most)
        granted = [name for name in allowed or () if not has_tool(self.denied, name)]
        rules = (*self.allowed_rules, *self.call_rules)
        ruled = {one.tool: one.allow for one in reversed(rules) if one.allow is not None}
        granted = [name for name in granted if fold_tool(name) not in ruled]
        granted += [entry_of(tool, pattern) for tool, patterns in ruled.items() for pattern in patterns]
        lists: dict[str, JsonValue] = {} if allowed is None else {"allow": [*granted]}
        asked: list[JsonValue] = [entry_of(one.tool, pattern) for one in rules for pattern in one.ask]
        refused = (entry_of(one.tool, pattern) for one in rules for pattern in one.deny)
        return {**lists, **({"ask": asked} if asked else {}), "deny": [*self.denied, *refused]}

    @staticmethod
    def json_schema() -> dict[str, JsonValue]:
        """Return the JSON Schema of what ohm.json may have."""
        names: dict[str, JsonValue] = {"type": "array", "items": {"type": "string"}}
        exactly = (
            "Exactly these child tools, instead of the profile's (of an agent profile at most these); or a list alone. "
            "'bash: git diff *' allows these commands of 'bash' alone, 'edit: src/**' these files."
        )
        return {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "allow": {**names, "description": exactly},
                        "ask": {
                            **names,
                            "default": [],
                            "description": "Somebody is asked before these calls: 'edit' before every one of the tool, "
                            "'bash: git push *' before these commands.",
                        },
                        "deny": {
                            **names,
                            "default": [],
                            "description": "Not these child tools; 'bash: git push *' denies these commands of 'bash'.",
                        },
                    },
                    "additionalProperties": False,
                },
                names,
            ]
        }


def merge_tools(layers: Iterable[Mapping[str, ToolRules]]) -> dict[str, ToolRules]:
    """Join the rules of several files, in reading order."""
    layers = tuple(layers)
    ids = dict.fromkeys(profile_id for layer in layers for profile_id in layer)
    return {
        profile_id: reduce(_merged, (layer[profile_id] for layer in layers if profile_id in layer))
        for profile_id in ids
    }


def _merged(lower: ToolRules, upper: ToolRules) -> ToolRules:
    return ToolRules(
        allowed=lower.allowed if upper.allowed is None else upper.allowed,
        denied=tuple(dict.fromkeys((*lower.denied, *upper.denied))),
        at_most=_common(lower.at_most, upper.at_most),
        allowed_rules=lower.allowed_rules if upper.allowed is None else upper.allowed_rules,
        call_rules=tuple(dict.fromkeys((*lower.call_rules, *upper.call_rules))),
        source=upper.source or lower.source,
        unclear=lower.unclear or upper.unclear,
    )


def _common(first: tuple[str, ...] | None, second: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if first is None or second is None:
        return second if first is None else first
    return common_tools(first, second)
