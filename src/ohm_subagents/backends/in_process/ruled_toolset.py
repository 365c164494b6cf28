"""A toolset whose calls are judged by the rules of the run first. Imports pydantic_ai."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_ai.toolsets import WrapperToolset

from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.plugin import CallRules, refused_call

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import ToolsetTool


@dataclass
class RuledToolset(WrapperToolset[Any]):
    """Refuses, in words for the model, each call that a rule denies."""

    rules: tuple[CallRules, ...] = ()

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:  # noqa: ANN401  pydantic-ai's signature
        refusal = refused_call(self.rules, name, _as_called(tool_args))
        if refusal is not None:
            fail(refusal)
        return await super().call_tool(name, tool_args, ctx, tool)


def _as_called(tool_args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the model gave them: pydantic-ai validates those of our tools into one model."""
    values = tuple(tool_args.values())
    return values[0].model_dump() if len(values) == 1 and isinstance(values[0], BaseModel) else tool_args
