"""The tool by which a subagent asks whoever has started it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from ohm_subagents._plugins.suites.tool import JsonObject, Tool, ToolResult
from ohm_subagents._views.call_line import call_line
from ohm_subagents.contract.profile import ASK_PARENT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents._plugins.suites.tool import ToolCall

    Ask = Callable[[str, tuple[str, ...]], Awaitable[str]]

_Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "description": "The question, complete: whoever answers sees nothing else of your work.",
        },
        "options": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Answers to choose from, if there are such.",
        },
    },
    "required": ["question"],
    "additionalProperties": False,
}


class _Question(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    question: _Line
    options: tuple[_Line, ...] = ()


def ask_tool(ask: Ask) -> Tool:
    """Return the tool; `ask` gets the question and its options, and returns the text for the model."""

    async def execute(call: ToolCall) -> ToolResult:
        try:
            asked = _Question.model_validate(call.arguments)
        except ValidationError as invalid:
            first = invalid.errors(include_url=False, include_context=False)[0]
            wrong = f"'{'.'.join(map(str, first['loc']))}': {first['msg']}."
            allowed = "Allowed: a text 'question', and a list of texts 'options'."
            return ToolResult(text=f"{wrong} {allowed}", details={}, is_error=True)
        return ToolResult(text=await ask(asked.question, asked.options), details={})

    return Tool(
        name=ASK_PARENT,
        label="Ask parent",
        description="Ask whoever gave you this task a question, and wait for the answer. Ask only what you can neither "
        "find out nor decide yourself.",
        input_schema=_SCHEMA,
        execute=execute,
        call_view=partial(call_line, ASK_PARENT, argument="question"),
        only_if_named=True,
        checks_arguments=True,
    )


async def _nobody(_question: str, _options: tuple[str, ...]) -> str:
    return "Nobody can be asked."


UNBOUND: Final = ask_tool(_nobody)
"""The tool before it belongs to a run."""
