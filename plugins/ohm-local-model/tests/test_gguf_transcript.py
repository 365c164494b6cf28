from __future__ import annotations

import pytest
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ImageUrl,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from ohm_local_model.transcript import ChatMessage, asking, transcript

GREP = ToolDefinition(
    name="grep",
    description="Search files.",
    parameters_json_schema={
        "type": "object",
        "properties": {"pattern": {"type": "string"}, "path": {"type": "string"}},
        "required": ["pattern"],
    },
)
NO_TOOLS = ModelRequestParameters()


def test_tool_calls_and_results_are_text_and_thinking_is_left_out() -> None:
    history: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart("You find things."), UserPromptPart("Where is x?")]),
        ModelResponse(parts=[ThinkingPart("hm"), TextPart("Let me look."), ToolCallPart("grep", {"pattern": "x"})]),
        ModelRequest(parts=[ToolReturnPart("grep", "a.py:1: x", tool_call_id="1")]),
    ]
    assert transcript(history, NO_TOOLS, [GREP]) == [
        ChatMessage(
            "system",
            "You find things.\n\n"
            "You work in steps. In a step you use one of these tools, or you answer:\n"
            "- grep(pattern, path?): Search files.",
        ),
        ChatMessage("user", "Where is x?"),
        ChatMessage("assistant", 'Let me look.\n\ngrep {"pattern":"x"}'),
        ChatMessage("user", "Result of grep:\na.py:1: x"),
    ]


def test_without_anything_to_say_there_is_no_system_message() -> None:
    assert transcript([ModelRequest.user_text_prompt("Hello.")], NO_TOOLS, []) == [ChatMessage("user", "Hello.")]


def test_instructions_of_the_request_come_before_those_of_the_history() -> None:
    history: list[ModelMessage] = [ModelRequest.user_text_prompt("Hello.", instructions="Old.")]
    parameters = ModelRequestParameters(instruction_parts=[InstructionPart("New."), InstructionPart("Newer.")])
    assert transcript(history, parameters, [])[0] == ChatMessage("system", "New.\n\nNewer.")
    assert transcript(history, NO_TOOLS, [])[0] == ChatMessage("system", "Old.")


def test_a_question_joins_what_the_user_said_last() -> None:
    assert asking([ChatMessage("user", "Where is x?")], "Next step?") == [
        ChatMessage("user", "Where is x?\n\nNext step?")
    ]
    assert asking([ChatMessage("assistant", "There.")], "Next step?")[-1] == ChatMessage("user", "Next step?")


def test_a_picture_in_the_prompt_is_refused() -> None:
    history: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(["Look:", ImageUrl("https://example.com/a.png")])])
    ]
    with pytest.raises(UserError, match="reads text only, and the prompt contains ImageUrl"):
        _ = transcript(history, NO_TOOLS, [])
