"""Arguments of `subagent` → data: the only validation of a payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import Err, Ok, Result, short_json

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents.suite import JsonObject

SUBAGENT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "agent": {"type": "string", "minLength": 1, "description": "Name of the agent that does the task."},
        "task": {
            "type": "string",
            "minLength": 1,
            "description": "The task. The agent sees nothing else of this conversation.",
        },
    },
    "required": ["agent", "task"],
    "additionalProperties": False,
}
_NAMES: Final = ("agent", "task")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentInput:
    """A valid call."""

    agent: str
    task: str


def parse_input(arguments: JsonValue) -> Result[SubagentInput, str]:
    """Read the arguments, or name the first parameter that is missing or unknown.

    A blank text is missing too, although the published schema, which only counts characters, lets it pass.
    """
    given = arguments if isinstance(arguments, dict) else {}
    texts = {name: value for name in _NAMES if isinstance(value := given.get(name), str) and value.strip()}
    for name in _NAMES:
        if name not in texts:
            return Err(_missing(name, given.get(name)))
    unknown = next((key for key in given if key not in _NAMES), None)
    if unknown is not None:
        return Err(f"Unsupported parameter: {unknown}. Supported parameters: {', '.join(_NAMES)}")
    return Ok(SubagentInput(agent=texts["agent"], task=texts["task"]))


def _missing(name: str, value: JsonValue) -> str:
    if value is None or isinstance(value, str):
        return f"Missing required parameter: {name}"
    return f"Invalid parameter: {name} is {short_json(value)}; allowed: a text that is not empty"
