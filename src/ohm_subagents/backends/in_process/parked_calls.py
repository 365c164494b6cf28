"""Calls that wait for an answer, kept so that another process can go on where this one stood. Imports pydantic_ai."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolReturnPart

from ohm_subagents.backends.in_process.conversation import written_state
from ohm_subagents.contract.events import Checkpointed

if TYPE_CHECKING:
    from collections.abc import Generator

    from pydantic_ai import RunContext

    from ohm_subagents.plugin import RunRequest, Sink


class ParkedCalls:
    """Keeps the conversation of a run while calls of it wait, with the calls beside them that have ended."""

    def __init__(self, request: RunRequest, sink: Sink) -> None:
        self._request = request
        self._sink = sink
        self._waiting = 0
        self._response: ModelResponse | None = None
        self._returned: list[ToolReturnPart] = []

    @contextmanager
    def waiting(self, ctx: RunContext[Any]) -> Generator[None]:
        """Keep the conversation with the call that waits while this is open."""
        self._waiting += 1
        self._keep(ctx)
        try:
            yield
        finally:
            self._waiting -= 1

    def returned(
        self, ctx: RunContext[Any], name: str, result: object, *, outcome: Literal["success", "failed"] = "success"
    ) -> None:
        """Keep the result of a call beside one that waits: it must not be made again."""
        self._follow(ctx)
        self._returned.append(ToolReturnPart(name, result, ctx.tool_call_id or "", outcome=outcome))
        if self._waiting:
            self._keep(ctx)

    def _keep(self, ctx: RunContext[Any]) -> None:
        self._follow(ctx)
        messages = [*ctx.messages, *([ModelRequest(parts=[*self._returned])] if self._returned else [])]
        self._sink.emit(Checkpointed(state=written_state(self._request.session_id, messages)))

    def _follow(self, ctx: RunContext[Any]) -> None:
        """Forget the calls of an earlier response of the model."""
        newest = next((one for one in reversed(ctx.messages) if isinstance(one, ModelResponse)), None)
        if newest is not self._response:
            self._response, self._returned = newest, []
