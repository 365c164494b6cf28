"""`subagents.permissions`: the rules of each file, joined.

A later file can tighten, never loosen: a profile runs only if every file that has an opinion on it agrees. A file's
opinion is its rule for the profile, else its own default. A rule that cannot be understood denies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.contract.profile import Decision, fold_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

NO_RULE: Final = Decision(verdict="allow", source="default", reason="no rule says otherwise")


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """The rules in force. Every decision names the `file:line` and the key that it comes from."""

    default: Decision = NO_RULE
    """For a profile without a rule of its own."""
    subagents: Mapping[str, Decision] = field(default_factory=dict[str, Decision])
    """For one profile, by folded id."""
    allow_internal_routing: bool = False
    """Internal profiles are shown and may run."""
    routing_source: str = "default"
    """The place of that: `file:line`."""

    def decision(self, profile_id: str) -> Decision:
        """Return the rule for a profile; ids are trimmed and folded."""
        return self.subagents.get(fold_id(profile_id), self.default)

    def as_json(self) -> dict[str, JsonValue]:
        """Return the rules in the form of ohm.json."""
        return {
            "default": self.default.verdict,
            "subagents": {name: rule.verdict for name, rule in self.subagents.items()},
            "allowInternalRouting": self.allow_internal_routing,
        }

    @staticmethod
    def json_schema() -> dict[str, JsonValue]:
        """Return the JSON Schema of that form."""
        verdict: dict[str, JsonValue] = {"enum": ["allow", "deny"]}
        return {
            "type": "object",
            "properties": {
                "default": {**verdict, "default": "allow", "description": "For a subagent without a rule of its own."},
                "subagents": {
                    "type": "object",
                    "additionalProperties": {**verdict, "description": "For one subagent, by its id."},
                },
                "allowInternalRouting": {
                    "type": "boolean",
                    "default": False,
                    "description": "Show internal subagents and let them run; a project can only forbid it.",
                },
            },
            "additionalProperties": False,
        }


OPEN: Final = Permissions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one file."""

    default: Decision | None = None
    """For a profile without a rule of its own; None leaves it to the other files."""
    subagents: Mapping[str, Decision] = field(default_factory=dict[str, Decision])
    """For one profile, by folded id."""
    routing: bool | None = None
    """`allowInternalRouting`; None leaves it to the other files."""
    routing_source: str = ""
    """The place of that: `file:line`."""
    may_only_tighten: bool = False
    """True for a project's file, which cannot allow internal routing."""

    def opinion(self, profile_id: str) -> Decision | None:
        return self.subagents.get(profile_id, self.default)


def merge(layers: Iterable[Rules]) -> Permissions:
    """Join the rules of several files, in reading order."""
    layers = tuple(layers)
    ids = dict.fromkeys(profile_id for rules in layers for profile_id in rules.subagents)
    routing = [one for one in layers if one.routing is False or (one.routing and not one.may_only_tighten)]
    deciding = next((rules for rules in routing if not rules.routing), routing[-1] if routing else None)
    return Permissions(
        default=_strictest(rules.default for rules in layers),
        subagents={
            # Every layer gives its opinion; the files that name the profile speak last, so that an allow names one.
            profile_id: _strictest(
                rules.opinion(profile_id) for rules in sorted(layers, key=lambda one: profile_id in one.subagents)
            )
            for profile_id in ids
        },
        allow_internal_routing=bool(deciding and deciding.routing),
        routing_source=deciding.routing_source if deciding else "default",
    )


def _strictest(opinions: Iterable[Decision | None]) -> Decision:
    """Return the first deny, else the last allow."""
    given = [opinion for opinion in opinions if opinion is not None]
    denies = [opinion for opinion in given if opinion.verdict == "deny"]
    return denies[0] if denies else given[-1] if given else NO_RULE
