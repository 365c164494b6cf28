"""The one who asks for a cancel: the reason of a cancelled task tells it."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from ohm_subagents._orchestrator.call_context import current_context
from ohm_subagents.contract.commands import Cancel
from ohm_subagents.contract.requests import by_words

if TYPE_CHECKING:
    from collections.abc import Generator

    from ohm_subagents.contract.commands import Command
    from ohm_subagents.contract.requests import Asker

CommandT = TypeVar("CommandT", bound="Command")
ASKED: Final = "A caller asked for it."
CALLER_GONE: Final = "The caller stopped waiting."
_COMMAND_STOPPED: Final = "Its command was stopped: by q, Ctrl-C or a signal."
_asked_by: Final[ContextVar[Asker | None]] = ContextVar("ohm_asked_by", default=None)


@contextmanager
def asked_by(who: Asker) -> Generator[None]:
    """Say who asks for what is done inside, unless a subagent does: the reason of a task that is cancelled tells it."""
    token = _asked_by.set(who)
    try:
        yield
    finally:
        _asked_by.reset(token)


def signed(command: CommandT, otherwise: Asker = "tool") -> CommandT:
    """Return a cancel with the one who asks for it, and another command as it is.

    `otherwise` is the one who asks where nothing says so.
    """
    if not isinstance(command, Cancel) or command.by:
        return command
    return replace(command, by=_asker() or otherwise)


def cancelled_text(command: Cancel) -> str:
    """Return the reason of a task that is cancelled."""
    where = by_words(command.by, "cancel")
    return f"It was cancelled {where}." if where else ASKED


def gone_text() -> str:
    """Return the reason of a task whose caller waits no more."""
    return _COMMAND_STOPPED if _asker() == "terminal" else CALLER_GONE


def _asker() -> Asker | None:
    caller = current_context.get()
    return _asked_by.get() if caller is None or caller.task_id is None else "tool"
