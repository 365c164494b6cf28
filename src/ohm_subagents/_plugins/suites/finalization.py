"""The tool by which a subagent hands in its answer, and the check of that answer."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from ohm_subagents._interpreters.interpreter import ProcessLimits, has_interpreter, installed, run_apart
from ohm_subagents._plugins.suites.tool import Tool, ToolResult
from ohm_subagents._views.call_line import call_line
from ohm_subagents.contract.events import Finalized, FinalStatus
from ohm_subagents.contract.json_schema import placed, writable
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.truncation import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.suites.tool import JsonObject, ToolCall

    Schema = Mapping[str, JsonValue]

DESCRIPTION: Final = (
    "Hand in the answer. This is how you end, and the last tool that you call: SUCCESS with the whole result, "
    "or ERROR with what went wrong, and with what you found so far as the result."
)
GUIDELINE: Final = f"End with a call of `{FINALIZE}`: nothing else that you say reaches whoever asked you."
HANDED_IN: Final = "The answer is handed in. Call no other tool."
_STATUSES: Final[Mapping[str, FinalStatus]] = {"SUCCESS": "SUCCESS", "ERROR": "ERROR"}
_SHOWN: Final = 60
_LIMITS: Final = ProcessLimits(memory=1 << 30, seconds=5)
_TOO_MUCH: Final = (
    f"'result' cannot be held to its schema in {_LIMITS.seconds} seconds and {_LIMITS.memory >> 20} MiB: "
    "hand in a smaller or simpler one, or end with ERROR."
)


def input_schema(schema: Schema | None) -> JsonObject:
    """Return the JSON schema of the tool's arguments; `schema` is that of the result, None for a text."""
    text: JsonObject = {"type": "string", "description": "The whole answer. Required with SUCCESS."}
    result, definitions = (text, {}) if schema is None else placed(schema, "/properties/result")
    return {
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": [*_STATUSES], "description": "Whether the task is done."},
            "result": result,
            "error": {"type": "string", "description": "What went wrong. Required with ERROR."},
        },
        "required": ["status"],
        "additionalProperties": False,
        **definitions,
    }


def finalize_tool(
    schema: Schema | None, report: Callable[[Finalized], None], misfit: Callable[[str], str | None] | None = None
) -> Tool:
    """Return the tool, which reports a valid call, and answers any other with what is wrong with it.

    `misfit` says what is wrong with a result that fits the schema.
    """

    async def execute(call: ToolCall) -> ToolResult:
        match parse_final(call.arguments) if schema is None else await parse_fitting(call.arguments, schema):
            case Err(wrong):
                return ToolResult(text=wrong, details={}, is_error=True)
            case Ok(final):
                fault = misfit(final.result or "") if misfit is not None and final.status == "SUCCESS" else None
                if fault is not None:
                    return ToolResult(text=fault, details={}, is_error=True)
                report(final)
                return ToolResult(text=HANDED_IN, details=payload(final))

    return Tool(
        name=FINALIZE,
        label="Finalize",
        description=DESCRIPTION,
        input_schema=input_schema(schema),
        execute=execute,
        call_view=partial(call_line, FINALIZE, argument="status"),
    )


def payload(final: Finalized) -> JsonObject:
    """Return the answer under its documented keys; an absent part has no key."""
    said = {"status": final.status, "result": final.result, "error": final.error}
    return {key: value for key, value in said.items() if value is not None}


def parse_final(arguments: JsonValue) -> Result[Finalized, str]:
    """Return a valid answer whose texts can be encoded, or one sentence that says what is wrong.

    `finalize.mjs` has the same rules.
    """
    read = _read(arguments)
    if isinstance(read, Err):
        return read
    given, status = read.ok_value
    return _failed(given, None) if status == "ERROR" else _done(_text(given.get("result")))


async def parse_fitting(arguments: JsonValue, schema: Schema) -> Result[Finalized, str]:
    """Return an answer as `parse_final` does, with a result that fits the schema as JSON text.

    It is held to the schema in a process of its own, because what a schema demands can take for ever.
    """
    read = _read(arguments)
    if isinstance(read, Err):
        return read
    given, status = read.ok_value
    return _failed(given, schema) if status == "ERROR" else _done(await _fitting(given, schema))


def _read(arguments: JsonValue) -> Result[tuple[JsonObject, FinalStatus], str]:
    """Return the arguments and the status that they state, or the sentence that refuses them."""
    read = writable(arguments)
    if isinstance(read, Err):
        return Err(f"The answer does not count: {read.err_value}.")
    given = read.ok_value if isinstance(read.ok_value, dict) else {}
    named, error = given.get("status"), given.get("error")
    status = _STATUSES.get(named) if isinstance(named, str) else None
    if status is None:
        return Err(f"{_what('status', named)}; allowed: SUCCESS or ERROR.")
    if error is not None and not isinstance(error, str):
        return Err(f"{_what('error', error)}; allowed: a text.")
    return Ok((given, status))


def _done(result: Result[str, str]) -> Result[Finalized, str]:
    return result if isinstance(result, Err) else Ok(Finalized(status="SUCCESS", result=result.ok_value))


def _failed(given: JsonObject, schema: Schema | None) -> Result[Finalized, str]:
    error, result = given.get("error"), given.get("result")
    if not isinstance(error, str) or not error.strip():
        return Err(f"{_what('error', error)}; ERROR requires an error that is not empty.")
    if result is None or isinstance(result, str):
        return Ok(Finalized(status="ERROR", error=error, result=result if result and result.strip() else None))
    if schema is None:
        return Err(f"{_what('result', result)}; allowed: a text.")
    return Ok(Finalized(status="ERROR", error=error, result=_json(result)))


def _text(result: JsonValue) -> Result[str, str]:
    if isinstance(result, str) and result.strip():
        return Ok(result)
    return Err(f"{_what('result', result)}; SUCCESS requires a result: a text that is not empty.")


async def _fitting(given: JsonObject, schema: Schema) -> Result[str, str]:
    """Return the result if it fits, or what is wrong; `null` counts if the schema allows it, a missing key never."""
    if "result" not in given:
        return Err("'result' is missing; SUCCESS requires one.")
    result = given["result"]
    written = _written(result) if isinstance(result, str) else Err("")
    values = [result] if isinstance(written, Err) else [result, written.ok_value]
    fits = await _first_that_fits(values, schema)
    return fits if isinstance(fits, Err) else Ok(_json(values[fits.ok_value]))


async def _first_that_fits(values: list[JsonValue], schema: Schema) -> Result[int, str]:
    """Return the number of the first value that fits, or what is wrong with the first of all."""
    said = json.dumps({"values": values, "schema": {**schema}}).encode()
    if has_interpreter():
        try:
            done = await run_apart("ohm_subagents._interpreters.fit", said, _LIMITS, paths=installed())
        except OSError as error:
            return Err(f"'result' cannot be held to its schema: no process starts ({error}).")
        if done.returncode:
            return Err(_TOO_MUCH)
        output = done.stdout
    else:
        from ohm_subagents._interpreters.fit import judged  # noqa: PLC0415  slow, and seldom needed

        output = await to_thread.run_sync(judged, said, abandon_on_cancel=True)
    verdict: dict[str, Any] = json.loads(output)
    return Ok(verdict["fits"]) if "fits" in verdict else Err(verdict["wrong"])


def _written(text: str) -> Result[JsonValue, str]:
    try:
        return writable(json.loads(text))
    except (ValueError, RecursionError):
        return Err("it is no JSON text")


def _what(name: str, value: JsonValue) -> str:
    if value is None:
        return f"'{name}' is missing"
    return f"'{name}' is {shortened(_json(value), _SHOWN)}"


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
