"""The answers of plugins to hooks, checked: what has another type than a hook asks for is refused whole."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeGuard, TypeVar, cast, get_args

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.profile import Decision, StartVerdict
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._plugins.suites.observer import Observer

T = TypeVar("T")


def read_items(results: Iterable[object], accepts: Callable[[object], TypeGuard[T]], what: str) -> Result[list[T], str]:
    """Return all that a plugin's implementations of a hook give, or an error if one gives something else."""
    found: list[T] = []
    for result in results:
        if not isinstance(result, Iterable):
            return Err(f"gave {reprlib.repr(result)}, which is not an iterable")
        for item in cast("Iterable[object]", result):  # a generator of the plugin runs here
            if not accepts(item):
                return Err(f"gave {reprlib.repr(item)}, which is not {what}")
            found.append(item)
    return Ok(found)


def is_observer(item: object) -> TypeGuard[Observer]:
    return not isinstance(item, type) and callable(getattr(item, "notify", None))


def is_text(item: object) -> TypeGuard[str]:
    return isinstance(item, str)


def is_diagnostic(item: object) -> TypeGuard[Diagnostic]:
    return isinstance(item, Diagnostic)


def read_decisions(results: Iterable[object]) -> Result[list[Decision], str]:
    return read_items([results], is_decision, "a Decision to allow or to deny")


def is_decision(item: object) -> TypeGuard[Decision]:
    return isinstance(item, Decision) and item.verdict in get_args(StartVerdict)


def read_row(result: object) -> Result[str | None, str]:
    if result is None or isinstance(result, str):
        return Ok(result)
    return Err(f"gave {reprlib.repr(result)}, which is not a text")
