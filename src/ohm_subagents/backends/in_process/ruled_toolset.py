"""A toolset whose calls wait for the gate of the run. Imports pydantic_ai."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.toolsets import WrapperToolset

from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.use import refuse_if_closed
from ohm_subagents.plugin import ASK_PARENT

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import ToolsetTool

    from ohm_subagents.backends.in_process.parked_calls import ParkedCalls
    from ohm_subagents.plugin import Gate


@dataclass
class RuledToolset(WrapperToolset[Any]):
    """Awaits the gate before each call, and refuses, in words for the model, what it does not let through."""

    gate: Gate
    parked: ParkedCalls

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:  # noqa: ANN401  pydantic-ai's signature
        try:
            result = await self._called(name, tool_args, ctx, tool)
        except (ToolFailed, ModelRetry) as failed:
            self.parked.returned(ctx, name, failed.message, outcome="failed")
            raise
        self.parked.returned(ctx, name, result)
        return result

    async def _called(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]) -> Any:  # noqa: ANN401  as above
        refuse_if_closed(ctx)  # nobody is asked about a call that is not made in any case
        given, call_id = _as_called(tool_args), ctx.tool_call_id or ""
        with ExitStack() as waiting:
            refusal = await self.gate.tool(
                name, given, call_id=call_id, on_wait=lambda: waiting.enter_context(self.parked.waiting(ctx))
            )
        if refusal is not None:
            fail(refusal)
        with self.parked.waiting(ctx) if name == ASK_PARENT else nullcontext():
            return await super().call_tool(name, tool_args, ctx, tool)


def _as_called(tool_args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the model gave them: pydantic-ai validates those of our tools into one model."""
    values = tuple(tool_args.values())
    return values[0].model_dump() if len(values) == 1 and isinstance(values[0], BaseModel) else tool_args
