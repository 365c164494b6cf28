"""Faults: what the code of others raises, told apart from what stops a task or the program."""

from __future__ import annotations

from typing import Final, cast

import anyio

from ohm_subagents._plugins.event_loop import is_being_cancelled

INTERRUPTS: Final = (KeyboardInterrupt, GeneratorExit)
"""What is never the fault of a plugin: the host is being stopped."""


def stop_in(error: BaseException) -> BaseException | None:
    """The part of an exception that has to go on: an interrupt, or the cancellation of the task that asks.

    None if it is all the fault of the code that raised it: an exception of any kind, a Rust panic and `SystemExit`
    among them, or a cancellation that nobody asked for.
    """
    stops: tuple[type[BaseException], ...] = INTERRUPTS
    if is_being_cancelled():
        stops = (*stops, anyio.get_cancelled_exc_class())
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).subgroup(stops)
    return error if isinstance(error, stops) else None


class FaultError(Exception):
    """Something that is no `Exception` was raised by somebody's code, where only exceptions are reckoned with."""


def kept(error: BaseException) -> Exception:
    """What somebody's code raised, as everybody's `except Exception` keeps it; raises again what has to go on."""
    stop = stop_in(error)
    if stop is not None:
        raise stop from None
    return error if isinstance(error, Exception) else FaultError(described(error))


def described(error: BaseException) -> str:
    """An exception in one line, without a full stop: its type and what it says."""
    return " ".join(cry(error).split()).rstrip(": .")


def cry(error: BaseException) -> str:
    """The type of an exception and what it says, if it can say it."""
    try:
        said = str(error)
    except BaseException:  # noqa: BLE001  somebody else's class
        said = "it cannot say what"
    return f"{type(error).__name__}: {said}"
