# /// script
# dependencies = ["openai-agents"]
# ///
"""openai-agents: an agent with our tools, on a model of our own."""

import json

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from door_contract import Delegated
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from ohm_subagents.adapters.openai_agents import tools

set_tracing_disabled(disabled=True)


class Scripted(Model):
    """Calls the tool once, then ends."""

    def __init__(self, tool, arguments):
        written = json.dumps(arguments)
        self._call = ResponseFunctionToolCall(type="function_call", call_id="c1", name=tool, arguments=written)
        self.read = []

    async def get_response(self, system_instructions, input, *args, **kwargs):
        self.read = (
            [] if isinstance(input, str) else [one for one in input if one.get("type") == "function_call_output"]
        )
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        ended = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[ended if self.read else self._call], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def delegate(ohm, tool, arguments, **options):
    model = Scripted(tool, arguments)
    result = await Runner.run(Agent(name="parent", model=model, tools=tools(ohm, **options)), "Go.")
    (read,) = model.read
    (details,) = (item.custom_data for item in result.new_items if item.type == "tool_call_output_item")
    used = result.context_wrapper.usage
    return Delegated(read["output"], details=details, usage=[used.input_tokens, used.output_tokens])
