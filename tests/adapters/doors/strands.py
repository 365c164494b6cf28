# /// script
# dependencies = ["strands-agents"]
# ///
"""strands: an agent with our tools, on a model of our own."""

import json

from door_contract import Delegated
from strands import Agent
from strands.models import Model

from ohm_subagents.adapters.strands import tools


class Scripted(Model):
    """Calls the tool once, then ends."""

    def __init__(self, tool, arguments):
        self._tool = tool
        self._arguments = arguments
        self.read = []

    def update_config(self, **model_config):
        pass

    def get_config(self):
        return {}

    def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, *args, **kwargs):
        self.read = [block["toolResult"] for block in messages[-1]["content"] if "toolResult" in block]
        yield {"messageStart": {"role": "assistant"}}
        if self.read:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": self._tool, "toolUseId": "c1"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(self._arguments)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if self.read else "tool_use"}}


async def delegate(ohm, tool, arguments, **options):
    model = Scripted(tool, arguments)
    agent = Agent(model=model, tools=tools(ohm, **options), callback_handler=None)
    shown = [
        event["tool_stream_event"]["data"] async for event in agent.stream_async("Go.") if "tool_stream_event" in event
    ]
    frames = [data["text"] for data in shown if "text" in data]
    (read,) = model.read
    used = agent.event_loop_metrics.accumulated_usage
    (content,) = read["content"]
    return Delegated(
        content["text"], read["status"] == "error", frames=frames, usage=[used["inputTokens"], used["outputTokens"]]
    )
