# /// script
# dependencies = ["pydantic-ai-slim"]
# ///
"""pydantic-ai: an agent with our toolset, on its function model."""

from door_contract import Delegated
from pydantic_ai import Agent
from pydantic_ai.messages import FunctionToolResultEvent, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from ohm_subagents.adapters.pydantic_ai import SubagentProgress, toolset

OWN = RequestUsage(input_tokens=1, output_tokens=1)
"""Of each of the two requests of the parent."""


async def delegate(ohm, tool, arguments, **options):
    def model(messages, _info):
        answered = any(part.part_kind == "tool-return" for part in messages[-1].parts)
        part = TextPart("done") if answered else ToolCallPart(tool, arguments)
        return ModelResponse(parts=[part], usage=OWN)

    frames, returned = [], []

    async with Agent(FunctionModel(model), toolsets=[toolset(ohm, **options)]).iter("Go.") as run:
        async for node in run:
            if Agent.is_call_tools_node(node):
                async with node.stream(run.ctx) as events:
                    async for event in events:
                        if isinstance(event, SubagentProgress):
                            frames.append(event.text)
                        elif isinstance(event, FunctionToolResultEvent):
                            returned.append(event.part)
    (part,) = returned
    usage = [run.usage.input_tokens - 2 * OWN.input_tokens, run.usage.output_tokens - 2 * OWN.output_tokens]
    return Delegated(
        part.model_response_str(wrap_if_error=False), part.outcome != "success", part.metadata, frames, usage
    )
