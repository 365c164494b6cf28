"""The limits of runs and tasks: time, a budget, and loops."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, Self

from ohm_subagents._records import dataclass

Extension = Literal["progress", "messages", "calls"]
ClockName = Literal["idle", "tool", "soft", "cap"]
LoopStep = Literal["warn", "finish", "stop"]
FOREVER_MS: Final = 2**53
"""A limit that is never reached: beyond it a number of milliseconds is no exact float any more."""
_STEPS: Final = ("warn", "finish", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Partial:
    """Numbers of which each may be None, to be set by another place."""

    def __post_init__(self) -> None:
        name: str
        for name in self.__slots__:  # `fields` is slow, and there is one of these in each start
            value = getattr(self, name)
            if value is None or name == "extension":
                continue
            if name == "cost_usd" and isinstance(value, float | str):
                value = _decimal(value)
                object.__setattr__(self, name, value)
            is_number = type(value) is int or (name == "cost_usd" and isinstance(value, Decimal))
            if not (is_number and value >= 0):
                wrong = f"{type(self).__name__}.{name} is {value!r}; it has to be a number, 0 or more, or None."
                raise ValueError(wrong)

    def over(self, other: Self | None) -> Self:
        """Return these values, and those of `other` where there is None."""
        if other is None:
            return self
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})

    def lowered(self, other: Self | None) -> Self:
        """Return the lower number of both, one by one; None is no limit."""
        lower: dict[str, int | Decimal] = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name, None)
            if isinstance(theirs, int | Decimal) and (mine is None or theirs < mine):
                lower[field.name] = theirs
        return replace(self, **lower)


def _is_tuple(value: object) -> bool:
    return isinstance(value, tuple)


def _decimal(value: float | str) -> Decimal:
    """Return an amount of money, exactly as it is written; -1 for a text that is no number."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    return amount if amount.is_finite() else Decimal(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(_Partial):
    """The time limits of one run, in milliseconds; None leaves a number to the configuration.

    Waiting to start counts for no limit, waiting for a turn at the provider for `cap_ms` alone.
    """

    idle_ms: int | None = None
    """The longest silence of the model after its first output, while no tool call is in flight."""
    tool_ms: int | None = None
    """The longest time of one tool call."""
    soft_ms: int | None = None
    """The time after which the run has to make progress to go on."""
    extend_ms: int | None = None
    """The extension for each progress once `soft_ms` is over."""
    cap_ms: int | None = None
    """The longest time in any case."""
    extension: Extension | None = None
    """The events that count as progress: `progress`, all (the default; a tool in flight has its own limit); `messages`,
    every event but a piece of a message or of a tool's output; `calls`, a new tool call alone, and the end of `soft_ms`
    starts an extension of its own."""

    def resolved(self) -> Clocks:
        """Fill in the defaults; an extension is as long as the idle time, and no longer than `soft_ms`."""
        idle_ms = _DEFAULT.idle_ms if self.idle_ms is None else self.idle_ms
        soft_ms = _DEFAULT.soft_ms if self.soft_ms is None else self.soft_ms
        return Clocks(
            idle_ms=idle_ms,
            tool_ms=_DEFAULT.tool_ms if self.tool_ms is None else self.tool_ms,
            soft_ms=soft_ms,
            extend_ms=min(idle_ms, soft_ms) if self.extend_ms is None else self.extend_ms,
            cap_ms=_DEFAULT.cap_ms if self.cap_ms is None else self.cap_ms,
            extension=self.extension or "progress",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """`Limits` with every number set, so that no run can hang for ever; the defaults are those of the product.

    Fields:
        idle_ms, tool_ms, soft_ms, extend_ms, cap_ms, extension: as in `Limits`.
    """

    idle_ms: int = 180_000
    tool_ms: int = 600_000
    soft_ms: int = 180_000
    extend_ms: int = 180_000
    cap_ms: int = 3_600_000
    extension: Extension = "progress"


_DEFAULT: Final = Clocks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(_Partial):
    """The budget of a task and everything that it starts; None is no limit."""

    requests: int | None = None
    """The most requests to models."""
    tokens: int | None = None
    """The most tokens, input and output together."""
    cost_usd: Decimal | None = None
    """The most US dollars. A float or a text is taken as it is written."""
    tool_calls: int | None = None
    """The most tool calls of subagents."""
    spawns: int | None = None
    """The most tasks that tasks may start."""
    depth: int | None = None
    """The most levels of tasks, its own being the first; with 1 it starts none."""
    wall_ms: int | None = None
    """The longest time from the start of the first run, in milliseconds."""


NO_LIMITS: Final = Limits()
NO_BUDGET: Final = Budget()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """Numbers that a project's file sets: they only lower what holds without them."""

    limits: Limits = NO_LIMITS
    """Limits of each run."""
    budget: Budget = NO_BUDGET
    """The budget of each task, with everything that it starts."""
    below: str = ""
    """The file of the profile that the project's overrides; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPolicy:
    """The rules that detect a loop, and the steps against it; 0 switches a rule off."""

    identical_calls: int = 5
    """Calls in a row of the same tool with the same arguments."""
    alternations: int = 4
    """Pairs in a row of two calls that take turns."""
    same_results: int = 10
    """Calls in a row of the same tool with the same result."""
    polling: tuple[str, ...] = ()
    """Tools that may repeat."""
    steps: tuple[LoopStep, ...] = ("warn", "finish", "stop")
    """The first is taken at the first repetition, the next at each further one: `warn` tells the model, `finish` asks
    it to answer now without tools, `stop` ends the run."""

    def __post_init__(self) -> None:
        for name in ("identical_calls", "alternations", "same_results"):
            count = getattr(self, name)
            if type(count) is not int or count < 0:
                wrong = f"LoopPolicy.{name} is {count!r}; it has to be an integer, 0 or more."
                raise ValueError(wrong)
        if not (_is_tuple(self.polling) and _is_tuple(self.steps) and set(self.steps) <= set(_STEPS)):
            wrong = f"LoopPolicy takes tuples: polling of tool names, steps of {', '.join(_STEPS)}; this is {self!r}."
            raise ValueError(wrong)
