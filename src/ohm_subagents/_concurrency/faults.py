"""Faults: exceptions of plugins, as opposed to those that stop a task or the program."""

from __future__ import annotations

from typing import Final, cast

import anyio

from ohm_subagents._concurrency.event_loop import is_being_cancelled

INTERRUPTS: Final = (KeyboardInterrupt, GeneratorExit)
"""Exceptions that are never the fault of a plugin: they stop the host."""


def interrupt_in(error: BaseException) -> BaseException | None:
    """Return the part of an exception that has to go on: an interrupt, or the cancellation of the current task.

    None if it is all the fault of the code that raised it: an exception of any kind, a Rust panic and `SystemExit`
    among them, or a cancellation that the current task was not asked for.
    """
    stops: tuple[type[BaseException], ...] = INTERRUPTS
    if is_being_cancelled():
        stops = (*stops, anyio.get_cancelled_exc_class())
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).subgroup(stops)
    return error if isinstance(error, stops) else None


class FaultError(Exception):
    """Stands in for a `BaseException` of a plugin, such as `SystemExit`, where callers handle an `Exception` only."""


def as_exception(error: BaseException) -> Exception:
    """Return a plugin's exception as an `Exception`, wrapped in `FaultError` if need be; raise what has to go on."""
    stop = interrupt_in(error)
    if stop is not None:
        raise stop from None
    return error if isinstance(error, Exception) else FaultError(error_line(error))


def error_line(error: BaseException) -> str:
    """Return an exception in one line, without a full stop: its type and its message."""
    return " ".join(error_text(error).split()).rstrip(": .")


def error_text(error: BaseException) -> str:
    """Return the type of an exception and its message, even if its `__str__` raises."""
    try:
        said = str(error)
    except BaseException:  # noqa: BLE001  a class of others
        said = "it cannot say what"
    return f"{type(error).__name__}: {said}"
