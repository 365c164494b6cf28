"""The tool `read_result`: the rest of an answer that was cut, where answers are framed (`modelText`)."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from ohm_subagents._plugins.suites.tool import Tool, ToolResult
from ohm_subagents._tools.arguments import explain_error, whole_number
from ohm_subagents._views.answer import cut, next_part
from ohm_subagents._views.call_line import call_line
from ohm_subagents._views.framed_text import READ_RESULT, framed, how_to_read_on, without_markers
from ohm_subagents.contract.commands import GetTasks
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.replies import Accepted, CommandRejected, Missing, TasksReply
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from ohm_subagents._plugins.suites.interface import SuiteContext
    from ohm_subagents._plugins.suites.tool import JsonObject, ToolCall
    from ohm_subagents.contract.task import Task

Words = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
_ALLOWED: Final = {
    "extra_forbidden": "the keys task, offset and pattern",
    "greater_than_equal": "a whole number, 0 or more",
    "not_whole": "a whole number, 0 or more",
    "string_too_short": "a text that is not empty",
}
LINE_MAX_CHARS: Final = 500
"""The part of a line that is shown where a pattern was found, in code points; less where the cap is lower."""


class ReadFields(BaseModel):
    """The part of an answer to read."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    task: Words = Field(description="Id of the task.")
    offset: Annotated[int, BeforeValidator(whole_number), Field(ge=0)] = Field(
        default=0, description="Where to begin, in characters from the start of the answer."
    )
    pattern: Words | None = Field(
        default=None, description="A plain text, in any case: give the lines from the offset on that have it."
    )


def read_result_tool(context: SuiteContext) -> Tool:
    """Return the tool for a suite whose texts are framed."""

    async def execute(call: ToolCall) -> ToolResult:
        try:
            asked = ReadFields.model_validate(call.arguments)
        except ValidationError as invalid:
            return _refused(_wrong_argument(invalid))
        match _task_of(await context.executor.execute(GetTasks(ids=(asked.task,)))):
            case Ok(task):
                return _read(task, asked, context.settings().output_max_chars)
            case Err(error):
                return _refused(error)

    return Tool(
        checks_arguments=True,
        name=READ_RESULT,
        label="Read result",
        description="Read more of the answer of a task that was cut: from an offset on, or the lines that have a text.",
        input_schema=_schema(),
        execute=execute,
        call_view=partial(call_line, READ_RESULT, argument="task"),
    )


def _schema() -> dict[str, Any]:
    written = ReadFields.model_json_schema()["properties"]
    described = {name: {"description": one["description"]} for name, one in written.items()}
    return {
        "type": "object",
        "properties": {
            "task": {"type": "string", "minLength": 1, **described["task"]},
            "offset": {"type": "integer", "minimum": 0, **described["offset"]},
            "pattern": {"type": "string", "minLength": 1, **described["pattern"]},
        },
        "required": ["task"],
        "additionalProperties": False,
    }


def _task_of(reply: object) -> Result[Task, OhmError]:
    match reply:
        case TasksReply(items=(Accepted(task=task),)) if task.is_terminal:
            return Ok(task)
        case TasksReply(items=(Accepted(task=task),)):
            return Err(_wrong(f"Task '{task.id}' is {task.status}; it has no answer yet.", advice="Wait for it."))
        case TasksReply(items=(Missing(error=error),)) | CommandRejected(error=error):
            return Err(error)
        case _:
            raise AssertionError("A look at one task has one reply.")


def _read(task: Task, asked: ReadFields, output_max_chars: int) -> ToolResult:
    """Return the part of an answer that was asked for; `details.text` is exact, in the text markers are harmless."""
    answer = next_part(task, output_max_chars, offset=asked.offset)
    whole_text = answer.whole
    details: JsonObject = {
        "task_id": task.id,
        "sha256": sha256(whole_text.encode("utf-8", "replace")).hexdigest(),
        "total_chars": len(whole_text),
    }
    if asked.offset > len(whole_text):
        message = f"offset is {asked.offset}; allowed: 0 to {len(whole_text)}, the length of the answer."
        return _refused(_wrong(message))
    if asked.pattern is not None:
        return _found(whole_text, asked, details, output_max_chars)
    text = framed(answer, task.id)
    rest: int | None = answer.end if answer.is_truncated else None
    return ToolResult(
        text=text if rest is None else f"{text}\n{how_to_read_on(task.id, rest)}",
        details={**details, "offset": asked.offset, "text": answer.shown, "next_offset": rest},
    )


def _found(text: str, asked: ReadFields, details: JsonObject, output_max_chars: int) -> ToolResult:
    """Return the lines that have the pattern, each with its offset, as many as the cap allows."""
    rows: list[str] = []
    matches: list[JsonValue] = []
    room, next_offset = output_max_chars, None
    for offset, line in _lines(text, asked.offset):
        if f"{asked.pattern}".casefold() not in line.casefold():
            continue
        shown = cut(line, min(LINE_MAX_CHARS, output_max_chars)).shown
        room -= len(shown)
        if rows and room < 0:
            next_offset = offset
            break
        rows.append(f"{offset}: {without_markers(shown)}")
        matches.append({"offset": offset, "text": shown})
    count = f"{len(rows)} lines" if len(rows) != 1 else "1 line"
    more = "" if next_offset is None else f"; more from offset {next_offset} on"
    return ToolResult(
        text="\n".join([f"{count} with that text, each after its offset{more}:", *rows]) if rows else "No line has it.",
        details={**details, "matches": matches, "next_offset": next_offset},
    )


def _lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield each line from an offset on, with its own offset."""
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, text[start:end]
        start = end + 1


def _wrong_argument(invalid: ValidationError) -> OhmError:
    first = invalid.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"])) or "arguments"
    otherwise = "an object" if not first["loc"] else "a text"
    return _wrong(f"{key} {explain_error(first, allowed=_ALLOWED, otherwise=otherwise)}")


def _wrong(message: str, *, advice: str = "") -> OhmError:
    return OhmError(code=ErrorCode.INVALID_TOOL_ARGUMENTS, message=message, advice=advice)


def _refused(error: OhmError) -> ToolResult:
    details: JsonObject = {
        "error_code": str(error.code),
        "error_category": error.resolved_category,
        "error_message": error.message,
        "error_advice": error.advice or None,
    }
    return ToolResult(text=str(error), details=details, is_error=True)
