"""Subagents for agents of openai-agents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ohm_subagents.adapters._calls import call_tool, described, installed, parsed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Unpack

    from agents import FunctionTool
    from agents.run import CallModelData, ModelInputData
    from agents.tool_context import ToolContext

    from ohm_subagents import CallOptions, Mailbox, Ohm
    from ohm_subagents.suite import JsonObject

__all__ = ["arrivals", "tools"]


def tools(ohm: Ohm, *, mailbox: Mailbox | None = None, **options: Unpack[CallOptions]) -> list[FunctionTool]:
    """Return the tools of `ohm` for `Agent(tools=...)`.

    The model reads the text of a result, also that of a failure; `details` are the `custom_data` of its item. Usage is
    added to that of the run. A run that is cancelled cancels what its calls have started.
    `options` are those of `Ohm.begin`, for every call. With a `mailbox` (`Ohm.mailbox`) results of background tasks
    come by `arrivals`.
    """
    with installed("openai-agents"):
        from agents import FunctionTool, Usage

    details: dict[str, JsonObject] = {}

    async def call(name: str, context: ToolContext[object], arguments: str) -> str:
        called = await call_tool(ohm, name, parsed(arguments), mailbox=mailbox, **options)
        used = called.usage
        context.usage.add(
            Usage(
                requests=used.requests,
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                total_tokens=used.input_tokens + used.output_tokens,
            )
        )
        details[context.tool_call_id] = called.result.details
        return called.result.text

    return [
        FunctionTool(
            name=name,
            description=described(ohm, tool, mailbox),
            params_json_schema=dict(tool.input_schema),
            on_invoke_tool=partial(call, name),
            strict_json_schema=False,  # a strict schema has no optional fields
            custom_data_extractor=lambda answered: details.pop(answered.tool_context.tool_call_id, None),
        )
        for name, tool in ohm.tools.items()
    ]


def arrivals(mailbox: Mailbox) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """Return the `call_model_input_filter` for `RunConfig` that tells what has ended in the background.

    It is a message before the next request of the model, once for each task of the tools that have the same `mailbox`;
    later requests of the same conversation have it in the same place. Make one for each conversation.
    """
    with installed("openai-agents"):
        from agents.run import ModelInputData

    told: list[tuple[int, str]] = []

    async def told_to_model(data: CallModelData[Any]) -> ModelInputData:
        items = [*data.model_data.input]
        if message := await mailbox.message():
            told.append((len(items), message))
        for place, text in reversed(told):  # a conversation only grows, and a filter changes one request alone
            if place <= len(items):
                items.insert(place, {"role": "user", "content": text})
        return ModelInputData(input=items, instructions=data.model_data.instructions)

    return told_to_model
