"""The messages between us and an agent, over the pipes of its process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import anyio
from acp import CLIENT_METHODS

from ohm_subagents.shell import records

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.plugin import JsonObject
    from ohm_subagents.shell import Child

INTERNAL_ERROR: Final = -32603
_UPDATE: Final = CLIENT_METHODS["session_update"]


class Wire:
    """A `Transport` of the ACP library.

    Updates go to `updated` at once and in order, before the answer to a request that comes after them. Lines that are
    no message are passed over: agents print warnings.
    """

    def __init__(self, child: Child, updated: Callable[[JsonObject], None]) -> None:
        self._child = child
        self._updated = updated
        self.answer: JsonObject | None = None
        """The newest answer to a request of ours."""
        self.answered = anyio.Event()
        """Set by the next answer; replaced by `expect`."""

    def expect(self) -> None:
        """Wait for a new answer from now on."""
        self.answer, self.answered = None, anyio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message. What an agent that has gone does not take is lost, and `receive` then ends."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        await self._child.write(text.encode("utf-8", "replace") + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message that is no update; None at the end of the output."""
        async for line in self._child.lines():
            message = records(line)
            if message is None:
                continue
            match message:
                case {"method": method, "params": dict(params)} if method == _UPDATE:
                    self._updated(params)
                case {"method": str(), "id": int() | str()}:
                    return message
                case {"id": int(), "result": _} | {"id": int(), "error": {"message": str(), "code": int()}}:
                    return self._answered_by(message)
                case {"id": int(), "error": error}:
                    unclear: JsonObject = {"code": INTERNAL_ERROR, "message": f"{error!r:.200}"}
                    return self._answered_by({**message, "error": unclear})
                case _:
                    pass
        return None

    def _answered_by(self, message: JsonObject) -> JsonObject:
        self.answer = message
        self.answered.set()
        return message

    async def close(self) -> None:
        """Do nothing: who started the process ends it."""
