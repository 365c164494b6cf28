"""`limits`, `loop` and `budget` as they are written, and the places that may set them."""

from dataclasses import replace
from functools import cached_property
from typing import Annotated, Final, Literal, TypeVar

from pydantic import Field

from ohm_subagents._config.jsonc import KeyPath
from ohm_subagents._config.merge import ONLY_LOWER_OVER_PROFILES, USER_ONLY
from ohm_subagents._config.section import Section
from ohm_subagents._config.values import Amount, Line, PositiveInt, WholeNumber
from ohm_subagents._records import dataclass
from ohm_subagents.contract.limits import NO_BUDGET, NO_LIMITS, Budget, Clocks, Limits, LoopPolicy

_CLOCKS: Final = Clocks()
_LOOP: Final = LoopPolicy()
_EXTENSION: Final = replace(
    ONLY_LOWER_OVER_PROFILES, implied_by=(("subagents", "limits", "idleMs"), ("backendTimeoutMs",))
)
_Part = TypeVar("_Part", Limits, Budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSource:
    """Limits and a budget that one place sets; None leaves a number to the others."""

    by: Literal["subagent", "profile", "common"]
    """`subagents.<id>`, the profile's file, or the settings of every subagent."""
    limits: Limits = NO_LIMITS
    """Limits of each run."""
    budget: Budget = NO_BUDGET
    """The budget of each task, with all that it starts."""
    is_ceiling: bool = False
    """True for a project's: its numbers count only where they are lower than what the others say."""

    def sets_any(self) -> bool:
        """Return True if there is a number in it."""
        return self.limits is not NO_LIMITS or self.budget is not NO_BUDGET


class CommonLimits(Section):
    """`subagents.limits`."""

    idle_ms: PositiveInt = Field(
        default=_CLOCKS.idle_ms,
        description="Time limit of silence of the model while no tool runs, in milliseconds.",
    )
    tool_ms: PositiveInt = Field(default=_CLOCKS.tool_ms, description="Time limit of one tool call, in milliseconds.")
    extend_ms: Annotated[PositiveInt | None, _EXTENSION] = Field(
        default=None,
        description="Time that a run goes on after each progress once `backendTimeoutMs` is over, in milliseconds; "
        "without it `idleMs` or the soft limit, whichever is shorter.",
    )
    cap_ms: PositiveInt = Field(
        default=_CLOCKS.cap_ms, description="Time limit of one run in any case, in milliseconds."
    )


class OwnLimits(Section):
    """`subagents.<id>.limits`, and `limits` of a profile file."""

    idle_ms: PositiveInt | None = Field(default=None, description="`subagents.limits.idleMs` of this subagent.")
    tool_ms: PositiveInt | None = Field(default=None, description="`subagents.limits.toolMs` of this subagent.")
    soft_ms: PositiveInt | None = Field(default=None, description="`backendTimeoutMs` of this subagent.")
    extend_ms: PositiveInt | None = Field(default=None, description="`subagents.limits.extendMs` of this subagent.")
    cap_ms: PositiveInt | None = Field(default=None, description="`subagents.limits.capMs` of this subagent.")


class OwnBudget(Section):
    """`subagents.<id>.budget`, and `budget` of a profile file."""

    requests: PositiveInt | None = Field(default=None, description="Maximum number of model requests.")
    tokens: PositiveInt | None = Field(default=None, description="Maximum number of tokens, input and output.")
    cost_usd: Amount | None = Field(default=None, description="Maximum cost in US dollars; a text keeps every digit.")
    tool_calls: PositiveInt | None = Field(default=None, description="Maximum number of tool calls.")
    spawns: WholeNumber | None = Field(default=None, description="Maximum number of tasks started by tasks.")
    depth: WholeNumber | None = Field(
        default=None, description="Maximum number of levels of tasks, its own being the first."
    )
    wall_ms: PositiveInt | None = Field(default=None, description="Time limit from the first run on, in milliseconds.")


class CommonBudget(OwnBudget):
    """`subagents.budget`: null is no limit."""

    spawns: WholeNumber | None = Field(
        default=32, description="Maximum number of tasks started by tasks; null: no limit."
    )
    depth: WholeNumber | None = Field(
        default=1, description="Maximum number of levels of tasks; 1: subagents start none; null: no limit."
    )


class Budgeted(Section):
    """A section that holds a budget and nothing else."""

    budget: OwnBudget


class OwnLoop(Section):
    """`subagents.<id>.loop`."""

    identical_calls: WholeNumber | None = Field(
        default=None, description="`subagents.loop.identicalCalls` of this subagent."
    )
    alternations: WholeNumber | None = Field(
        default=None, description="`subagents.loop.alternations` of this subagent."
    )
    same_results: WholeNumber | None = Field(default=None, description="`subagents.loop.sameResults` of this subagent.")
    polling: Annotated[tuple[Line, ...], USER_ONLY] = Field(
        default=(), description="More tools that may repeat in this subagent; not for project files."
    )


class CommonLoop(Section):
    """`subagents.loop`."""

    identical_calls: WholeNumber = Field(
        default=_LOOP.identical_calls,
        description="Calls in a row of the same tool with the same arguments that are a loop; 0: never.",
    )
    alternations: WholeNumber = Field(
        default=_LOOP.alternations, description="Pairs of two calls that take turns that are a loop; 0: never."
    )
    same_results: WholeNumber = Field(
        default=_LOOP.same_results,
        description="Equal results in a row of the same tool that are a loop; 0: never.",
    )
    polling: Annotated[tuple[Line, ...], USER_ONLY] = Field(
        default=(), description="Tools that may repeat; not for project files."
    )

    def policy(self, own: OwnLoop) -> LoopPolicy:
        """Return the rules for a subagent with these of its own; the tools that may repeat are those of both."""
        if own not in self._policies:
            said = {name: value for name, value in own.as_arguments().items() if value is not None}
            said["polling"] = tuple(dict.fromkeys((*self.polling, *own.polling)))
            self._policies[own] = LoopPolicy(**(self.as_arguments() | said))
        return self._policies[own]

    @cached_property
    def _policies(self) -> dict[OwnLoop, LoopPolicy]:
        """Those that were asked for, as each start does."""
        return {}


def limit_sources(
    by: Literal["subagent", "common"], limits: Section, budget: Section | None, ceilings: frozenset[KeyPath]
) -> tuple[LimitSource, LimitSource]:
    """Return what the user says, and what a project says besides; `ceilings` are its keys, as `("limits", "capMs")`."""

    def source(*, is_ceiling: bool) -> LimitSource:
        def part(nothing: _Part, section: Section | None, key: str) -> _Part:
            if section is None or (is_ceiling and not ceilings):
                return nothing
            fields = type(section).model_fields.items()
            chosen = (name for name, field in fields if ((key, field.alias) in ceilings) is is_ceiling)
            found = replace(nothing, **{name: getattr(section, name) for name in chosen})
            return nothing if found == nothing else found

        return LimitSource(
            by=by,
            limits=part(NO_LIMITS, limits, "limits"),
            budget=part(NO_BUDGET, budget, "budget"),
            is_ceiling=is_ceiling,
        )

    return source(is_ceiling=False), source(is_ceiling=True)
