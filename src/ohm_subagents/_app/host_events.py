"""Events of the host's session, passed to the suites."""

from __future__ import annotations

from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeGuard

from ohm_subagents._concurrency.faults import as_exception
from ohm_subagents._tools.tool import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents._plugins.suites.interface import EventHandler
    from ohm_subagents._plugins.suites.tool import JsonObject


NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


class HostEvents:
    """The handlers of one mounting of the suites, in its order."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._handlers: defaultdict[str, list[EventHandler]] = defaultdict(list)

    def on(self, event: str, handler: EventHandler) -> None:
        """Call the handler at each event of this name, after those that are there already."""
        self._handlers[event].append(handler)

    async def emit(self, event: str, payload: Mapping[str, object] = NOTHING) -> tuple[JsonObject, ...]:
        """Return the answers of the handlers in order, without those that had none; one that raises is logged.

        Each gets the payload as JSON, for itself.
        """
        answers: list[JsonObject] = []
        for handler in tuple(self._handlers.get(event, ())):
            told = as_json(payload)
            try:
                answer = await handler(told if _is_object(told) else {})
            except BaseException as exc:
                raised = as_exception(exc)
                self._logger.exception("handler.raised", host_event=event, handler=repr(handler), exc_info=raised)
            else:
                if answer is not None:
                    answers.append(answer)
        return tuple(answers)


def _is_object(value: object) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)
