"""Arguments of `subagent` → data: the only validation of a payload."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import Err, Ok, Result, short_json

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents.suite import JsonObject

SESSION_ID: Final = r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}"
SUBAGENT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "agent": {"type": "string", "minLength": 1, "description": "Name of the agent that does the task."},
        "task": {
            "type": "string",
            "minLength": 1,
            "description": "The task. The agent sees nothing else of this conversation.",
        },
        "sessionId": {
            "type": "string",
            "pattern": f"^{SESSION_ID}$",
            "description": "Session of this agent that is to go on, as an earlier result names it.",
        },
    },
    "required": ["agent", "task"],
    "additionalProperties": False,
}
_NAMES: Final = ("agent", "task", "sessionId")
_REQUIRED: Final = ("agent", "task")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentInput:
    """A valid call; `session_id` is None for a new session."""

    agent: str
    task: str
    session_id: str | None = None


def parse_input(arguments: JsonValue) -> Result[SubagentInput, str]:
    """Read the arguments, or return one sentence about the first fault."""
    given = arguments if isinstance(arguments, dict) else {}
    unknown = next((key for key in given if key not in _NAMES), None)
    if unknown is not None:
        return Err(f"'{unknown}' is not a parameter of subagent; allowed: {', '.join(_NAMES)}.")
    texts = {name: value for name in _REQUIRED if isinstance(value := given.get(name), str) and value.strip()}
    for name in _REQUIRED:
        if name not in texts:
            fact = "is missing" if given.get(name) is None else f"is {short_json(given[name])}"
            return Err(f"'{name}' {fact}; allowed: a text that is not empty.")
    match parse_session_id(given.get("sessionId")):
        case Err(wrong):
            return Err(wrong)
        case Ok(session_id):
            return Ok(SubagentInput(agent=texts["agent"], task=texts["task"], session_id=session_id))


def parse_session_id(value: JsonValue) -> Result[str | None, str]:
    """Return the id, which is safe in a file name, or one sentence about its fault."""
    if value is None or (isinstance(value, str) and re.fullmatch(SESSION_ID, value)):
        return Ok(value)
    allowed = "letters, digits, '_' and '-', at most 128, beginning with a letter or digit"
    return Err(f"'sessionId' is {short_json(value)}; allowed: {allowed}.")
