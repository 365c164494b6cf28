"""How much a run and a task may take: four clocks, a budget, and what counts as a loop. Data; the engine obeys it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, Self

Extension = Literal["progress", "messages", "calls"]
ClockName = Literal["idle", "tool", "soft", "cap"]
LoopStep = Literal["warn", "finish", "stop"]
FOREVER_MS: Final = 2**53
"""A clock that is set to this never strikes: beyond it a number of milliseconds is no exact float any more."""
_STEPS: Final = ("warn", "finish", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Partial:
    """Values of which each may be left open, to be taken from somewhere else."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "cost_usd" and isinstance(value, float | str):
                value = _decimal(value)
                object.__setattr__(self, field.name, value)
            is_number = type(value) is int or (field.name == "cost_usd" and isinstance(value, Decimal))
            if value is not None and field.name != "extension" and not (is_number and value >= 0):
                wrong = f"{type(self).__name__}.{field.name} is {value!r}; it has to be a number, 0 or more, or None."
                raise ValueError(wrong)

    def over(self, other: Self | None) -> Self:
        """What is said here, and `other`'s word for the rest."""
        if other is None:
            return self
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})

    def lowered(self, other: Self | None) -> Self:
        """The lower number of both, one by one; None is no limit."""
        lower: dict[str, int | Decimal] = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name, None)
            if isinstance(theirs, int | Decimal) and (mine is None or theirs < mine):
                lower[field.name] = theirs
        return replace(self, **lower)


def _is_tuple(value: object) -> bool:
    return isinstance(value, tuple)


def _decimal(value: float | str) -> Decimal:
    """Money is exact: a float is taken as it is written. What is no amount is none that anybody could spend."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    return amount if amount.is_finite() else Decimal(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(_Partial):
    """How long one run may take, by four clocks, in milliseconds; None is what is configured.

    Waiting to start counts for no clock, waiting for a provider's turn for the cap alone. `idle_ms`: how long the
    model may say nothing, once it has said something and no tool is in flight. `tool_ms`: how long one tool call may be
    in flight. `soft_ms`: how long the run may take without progress at its end; later than that, it goes on for
    `extend_ms` after each progress. `cap_ms`: how long it may take in any case. `extension`: `progress` is every
    event, and a tool in flight has its own clock; with `messages` a piece of a message or of what a tool says is none
    (001); with `calls` the soft deadline starts an extension of its own, and
    only a new tool call starts another (000).
    """

    idle_ms: int | None = None
    tool_ms: int | None = None
    soft_ms: int | None = None
    extend_ms: int | None = None
    cap_ms: int | None = None
    extension: Extension | None = None

    def resolved(self) -> Clocks:
        """Every clock set. Unless said otherwise an extension is as long as the idle time, and no longer than soft."""
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
    """Limits with nothing left open, so that no run can hang for ever."""

    idle_ms: int = 180_000
    tool_ms: int = 600_000
    soft_ms: int = 180_000
    extend_ms: int = 180_000
    cap_ms: int = 3_600_000
    extension: Extension = "progress"


_DEFAULT: Final = Clocks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(_Partial):
    """How much may be spent by a task and all that it starts; None is no limit.

    `requests`, `tokens` (input and output) and `cost_usd` are about the model; `tool_calls` are those of the subagents;
    `spawns` are tasks started by tasks; `depth` is how many levels of tasks there may be, those that the budget is for
    being the first (1: they start none); `wall_ms` is the time from the first run on.
    """

    requests: int | None = None
    tokens: int | None = None
    cost_usd: Decimal | None = None
    tool_calls: int | None = None
    spawns: int | None = None
    depth: int | None = None
    wall_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPolicy:
    """When a run goes in circles, and what is done about it. 0 turns a rule off.

    `identical_calls`: the same tool with the same arguments, so often in a row. `alternations`: two different calls
    that take turns, so many pairs. `same_results`: the same tool with the same result, so often in a row. Tools in
    `polling` do not count. The first time, the first of `steps` is taken, at each further repetition the next: `warn`
    tells the model, `finish` asks it to answer now without tools, `stop` ends the run with `message`.
    """

    identical_calls: int = 5
    alternations: int = 4
    same_results: int = 10
    polling: tuple[str, ...] = ()
    steps: tuple[LoopStep, ...] = ("warn", "finish", "stop")
    message: str = ""

    def __post_init__(self) -> None:
        for name in ("identical_calls", "alternations", "same_results"):
            count = getattr(self, name)
            if type(count) is not int or count < 0:
                wrong = f"LoopPolicy.{name} is {count!r}; it has to be an integer, 0 or more."
                raise ValueError(wrong)
        if not (_is_tuple(self.polling) and _is_tuple(self.steps) and set(self.steps) <= set(_STEPS)):
            wrong = f"LoopPolicy takes tuples: polling of tool names, steps of {', '.join(_STEPS)}; this is {self!r}."
            raise ValueError(wrong)
