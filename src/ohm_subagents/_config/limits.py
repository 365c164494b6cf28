"""`limits`, `loop` and `budget` of ohm.json and of profile files, and what they are in the contract."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Self, TypeVar

from pydantic import Field, PrivateAttr

from ohm_subagents._config.section import Section
from ohm_subagents._config.values import Amount, Line, PositiveInt, WholeNumber
from ohm_subagents.contract.limits import Budget, Clocks, Limits, LoopPolicy

_CLOCKS: Final = Clocks()
_LOOP: Final = LoopPolicy()
_Part = TypeVar("_Part", Limits, Budget)


class _Lowerable(Section):
    """Values of which a project's file can only lower what the others say."""

    _lowering: frozenset[str] = PrivateAttr(default=frozenset())

    def lowering(self, keys: Iterable[str]) -> Self:
        """The same, knowing the keys (as they are written) that a project's file alone gives."""
        keys = frozenset(keys)
        marked = self.model_copy()
        marked._lowering = frozenset(  # noqa: SLF001  it is our own
            name for name, field in type(self).model_fields.items() if field.alias in keys
        )
        return marked

    def _split(self, whole: _Part) -> tuple[_Part, _Part]:
        """What the user says, and what a project's file says besides."""
        others = type(self).model_fields.keys() - self._lowering
        return replace(whole, **dict.fromkeys(self._lowering)), replace(whole, **dict.fromkeys(others))


class CommonLimits(_Lowerable):
    """`subagents.limits`."""

    idle_ms: PositiveInt = Field(
        default=_CLOCKS.idle_ms,
        description="How long a model may say nothing while no tool runs, in milliseconds.",
    )
    tool_ms: PositiveInt = Field(
        default=_CLOCKS.tool_ms, description="How long one tool call may take, in milliseconds."
    )
    extend_ms: PositiveInt | None = Field(
        default=None,
        description="How long a run goes on after each progress once `backendTimeoutMs` is over, in milliseconds; "
        "without it `idleMs` or the soft limit, whichever is shorter.",
    )
    cap_ms: PositiveInt = Field(
        default=_CLOCKS.cap_ms, description="How long one run may take in any case, in milliseconds."
    )

    def limits(self) -> tuple[Limits, Limits]:
        """What the user says, and what a project's file says besides: at most that."""
        return self._split(
            Limits(idle_ms=self.idle_ms, tool_ms=self.tool_ms, extend_ms=self.extend_ms, cap_ms=self.cap_ms)
        )


class OwnLimits(_Lowerable):
    """`subagents.<id>.limits`, and `limits` of a profile file."""

    idle_ms: PositiveInt | None = Field(default=None, description="`subagents.limits.idleMs` of this subagent.")
    tool_ms: PositiveInt | None = Field(default=None, description="`subagents.limits.toolMs` of this subagent.")
    soft_ms: PositiveInt | None = Field(default=None, description="`backendTimeoutMs` of this subagent.")
    extend_ms: PositiveInt | None = Field(default=None, description="`subagents.limits.extendMs` of this subagent.")
    cap_ms: PositiveInt | None = Field(default=None, description="`subagents.limits.capMs` of this subagent.")

    def limits(self) -> tuple[Limits, Limits]:
        """What the user says, and what a project's file says besides: at most that."""
        return self._split(
            Limits(
                idle_ms=self.idle_ms,
                tool_ms=self.tool_ms,
                soft_ms=self.soft_ms,
                extend_ms=self.extend_ms,
                cap_ms=self.cap_ms,
            )
        )


class OwnBudget(_Lowerable):
    """`subagents.<id>.budget`, and `budget` of a profile file.

    A budget that cannot be understood keeps the subagent from running: `unclear` says why.
    """

    requests: PositiveInt | None = Field(default=None, description="How many model requests.")
    tokens: PositiveInt | None = Field(default=None, description="How many tokens, input and output.")
    cost_usd: Amount | None = Field(default=None, description="How many US dollars; a text keeps every digit.")
    tool_calls: PositiveInt | None = Field(default=None, description="How many tool calls.")
    spawns: WholeNumber | None = Field(default=None, description="How many tasks may be started by tasks.")
    depth: WholeNumber | None = Field(
        default=None, description="How many levels of tasks there may be, its own being the first."
    )
    wall_ms: PositiveInt | None = Field(default=None, description="How long from the first run on, in milliseconds.")
    _unclear: str = PrivateAttr(default="")

    @property
    def unclear(self) -> str:
        return self._unclear

    def doubted(self, why: str) -> Self:
        """The same, unclear for this reason."""
        doubted = self.model_copy()
        doubted._unclear = why  # noqa: SLF001  it is our own
        return doubted

    def budget(self) -> tuple[Budget, Budget]:
        """What the user says, and what a project's file says besides: at most that."""
        return self._split(
            Budget(
                requests=self.requests,
                tokens=self.tokens,
                cost_usd=self.cost_usd,
                tool_calls=self.tool_calls,
                spawns=self.spawns,
                depth=self.depth,
                wall_ms=self.wall_ms,
            )
        )


class CommonBudget(OwnBudget):
    """`subagents.budget`: null is no limit."""

    spawns: WholeNumber | None = Field(
        default=32, description="How many tasks may be started by tasks; null: no limit."
    )
    depth: WholeNumber | None = Field(
        default=1, description="How many levels of tasks there may be; 1: subagents start none; null: no limit."
    )


class Budgeted(Section):
    """What holds a budget and nothing else."""

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
    polling: tuple[Line, ...] = Field(
        default=(), description="More tools that may repeat in this subagent; not for project files."
    )


class CommonLoop(Section):
    """`subagents.loop`."""

    identical_calls: WholeNumber = Field(
        default=_LOOP.identical_calls,
        description="How many times in a row the same tool with the same arguments is a loop; 0: never.",
    )
    alternations: WholeNumber = Field(
        default=_LOOP.alternations, description="How many pairs of two calls that take turns are a loop; 0: never."
    )
    same_results: WholeNumber = Field(
        default=_LOOP.same_results,
        description="How many times in a row the same result of the same tool is a loop; 0: never.",
    )
    polling: tuple[Line, ...] = Field(default=(), description="Tools that may repeat; not for project files.")

    def policy(self, own: OwnLoop) -> LoopPolicy:
        """The rules for a subagent with these of its own: key by key; the tools that may repeat are those of both."""

        def first(mine: int | None, common: int) -> int:
            return common if mine is None else mine

        return LoopPolicy(
            identical_calls=first(own.identical_calls, self.identical_calls),
            alternations=first(own.alternations, self.alternations),
            same_results=first(own.same_results, self.same_results),
            polling=tuple(dict.fromkeys((*self.polling, *own.polling))),
        )
