"""A subagent's model streams by itself, and gives the agent whole answers; a state is what the library reads."""

from types import SimpleNamespace

import pytest
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation, ConversationTypeAdapter
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from ohm_subagents.backends.in_process.bridge import Bridge
from ohm_subagents.backends.in_process.conversation import Checkpoints
from ohm_subagents.backends.in_process.gated_model import GatedModel
from ohm_subagents.backends.in_process.tools.use import ToolUse
from ohm_subagents.contract.model_pattern import ModelPattern


class Sink:
    def __init__(self):
        self.events = []

    def emit(self, event):
        self.events.append(event)


def gated():
    pattern = ModelPattern(provider="acme", model="small")
    bridge = Bridge(Sink())
    return GatedModel(
        TestModel(), pattern=pattern, price=None, gate=None, bridge=bridge, tools=ToolUse(file_changed=str)
    )


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_whoever_streams_past_the_gate_is_refused():
    with pytest.raises(NotImplementedError, match="asked for whole answers"):
        async with Agent(gated()).run_stream("hi"):
            pass


def test_a_state_says_what_the_adapter_of_the_library_would_write():
    messages = [
        ModelRequest.user_text_prompt("hi", instructions="Be brief."),
        ModelResponse(
            parts=[TextPart('a "quoted"\n\u2028 answer'), ToolCallPart("read", {"path": "x"}, tool_call_id="c1")],
            usage=RequestUsage(input_tokens=5, output_tokens=7),
            model_name="small",
        ),
    ]
    sink = Sink()
    Checkpoints(sink).last(SimpleNamespace(all_messages=lambda: messages, conversation_id='id "1"'), None)
    (told,) = sink.events
    adapter = ConversationTypeAdapter
    written = adapter.dump_json(Conversation(messages=messages, conversation_id='id "1"'))
    assert adapter.validate_json(told.state) == adapter.validate_json(written)
