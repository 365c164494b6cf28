"""Subagents for agents of pydantic-ai."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import CustomEvent, ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_ai.usage import RunUsage
from pydantic_core import SchemaValidator, core_schema

from ohm_subagents.adapters._calls import call_tool, described, starts_async
from ohm_subagents.suite import JsonObject, ToolResult, tool_guidance

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from typing import Unpack

    from pydantic_ai import RunContext

    from ohm_subagents import CallOptions, Mailbox, Ohm
    from ohm_subagents.suite import OnUpdate

__all__ = ["SubagentProgress", "toolset"]

_AN_OBJECT: Final = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
"""All that is checked here: a tool refuses other arguments in its own words."""


@dataclass(kw_only=True)
class SubagentProgress(CustomEvent, name="ohm_subagent_progress"):
    """A progress frame of a call, in the event stream of the run that called.

    Fields:
        text: the state of the call, for people.
        details: the same for programs; for a tool that starts tasks, a `task.v1` envelope.
    """

    text: str
    details: JsonObject = field(default_factory=dict[str, Any])


def toolset(ohm: Ohm, *, mailbox: Mailbox | None = None, **options: Unpack[CallOptions]) -> AbstractToolset[object]:
    """Return the tools of `ohm` for `Agent(toolsets=[...])`; those of a reconfigured `ohm` are used from the next step.

    Guidance of the tools is part of the instructions. The model reads the text of a result, a failed tool return if it
    is an error; `details` are the `metadata` of others. Each progress frame is an event `SubagentProgress`. Usage is
    added to that of the run, whose `UsageLimits` so hold for the subagents too. A run that is cancelled cancels what
    its calls have started. `options` are those of `Ohm.begin`, for every call. A task that
    inherits a model has that of the agent.

    What a call has started in the background is a message of the conversation when it has ended, before the next
    request. `mailbox` is that of a parent with a name (`Ohm.mailbox`), which gets its results after a restart too.
    """
    return _Tools(ohm, mailbox, options)


class _Tools(AbstractToolset[object]):
    def __init__(self, ohm: Ohm, mailbox: Mailbox | None, options: CallOptions) -> None:
        self._ohm = ohm
        self._mailbox = mailbox
        self._options = options

    @property
    def id(self) -> str:
        """Return the id of the toolset."""
        return "ohm"

    async def get_instructions(self, ctx: RunContext[object]) -> str | None:
        """Return what the tools have to say for a system prompt."""
        del ctx
        return tool_guidance(self._ohm.tools.values()) or None

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """Return the tools as they are now; what has ended in the background goes into the next request."""
        if self._mailbox is None and (starts_async(self._ohm) or self._options.get("background_after_ms") is not None):
            self._mailbox = self._ohm.mailbox()
        if self._mailbox is not None and (message := await self._mailbox.message()):
            ctx.enqueue(message)
        return {
            name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=name,
                    description=described(self._ohm, tool, self._mailbox),
                    parameters_json_schema=dict(tool.input_schema),
                ),
                max_retries=1,
                args_validator=_AN_OBJECT,
            )
            for name, tool in self._ohm.tools.items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[object], tool: ToolsetTool[object]
    ) -> ToolReturn[str]:
        """Call a tool, with its progress as events of the run."""
        del tool
        async with _shown(ctx) as show:
            options: CallOptions = {"parent_model": f"{ctx.model.system}/{ctx.model.model_name}", **self._options}
            called = await call_tool(self._ohm, name, tool_args, show, mailbox=self._mailbox, **options)
        used = called.usage
        ctx.usage.incr(
            RunUsage(
                requests=used.requests,
                tool_calls=used.tool_calls,
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                cache_read_tokens=used.cached_tokens,
                cache_write_tokens=used.cache_write_tokens,
            )
        )
        if called.result.is_error:
            raise ToolFailed(called.result.text)
        return ToolReturn(return_value=called.result.text, metadata=called.result.details)


@asynccontextmanager
async def _shown(ctx: RunContext[object]) -> AsyncGenerator[OnUpdate]:
    """Give what takes progress frames and makes events of them."""
    frames, taken = anyio.create_memory_object_stream[ToolResult](math.inf)

    async def show() -> None:
        with taken:
            async for frame in taken:
                await ctx.emit(SubagentProgress(text=frame.text, details=frame.details))

    async with anyio.create_task_group() as group:
        group.start_soon(show)
        with frames:
            yield frames.send_nowait
