"""The stream of Claude Code, which others have taken over: whole messages, pieces of them, and a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_backend_cli.shapes import count, dollars, object_of, objects_of, texts_of
from ohm_subagents.plugin import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_backend_cli.run_state import RunState
    from ohm_backend_cli.stream import Table
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.plugin import JsonObject

INVENTED: Final = "<synthetic>"
"""The model of a message that the CLI wrote itself, such as the text of an error."""


def used(usage: JsonObject, *, requests: int, is_without_cached: bool, cost: object = None) -> Usage:
    """A count of tokens. `is_without_cached`: `input_tokens` leaves out what was read from and written to the cache."""
    read, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    return Usage(
        requests=requests,
        input_tokens=count(usage.get("input_tokens")) + (read + written if is_without_cached else 0),
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=read,
        cost_usd=dollars(cost),
    )


def system(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """Read the start."""
    match record:
        case {"subtype": "init", "session_id": str(session), "model": str(model)}:
            yield from run.runs(model, record.get(f"{run.id}_code_version"))
            yield from run.begins(session)
        case _:
            pass


def piece(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """Read a piece of a message of the agent itself, not of agents that it started."""
    if record.get("parent_tool_use_id") is not None:
        return
    match object_of(record.get("event")):
        case {"type": "message_start", "message": message}:
            run.pieces.asked = object_of(object_of(message).get("usage"))
            yield from run.answers_as(object_of(message).get("model"))
        case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
            run.pieces.have_come = True
            yield from run.says(text)
        case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": str(text)}}:
            run.pieces.have_come = True
            yield from run.thinks(text)
        case {"type": "message_delta", "usage": usage}:
            yield from run.spends(used({**run.pieces.asked, **object_of(usage)}, requests=1, is_without_cached=True))
        case _:
            pass


def assistant(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """Read a message, or a block of one."""
    message = object_of(record.get("message"))
    if message.get("model") == INVENTED:
        return
    if record.get("parent_tool_use_id") is None:
        yield from run.answers_as(message.get("model"))
    is_run = run.pieces.have_come or record.get("parent_tool_use_id") is not None
    for block in objects_of(message.get("content")):
        match block:
            case {"type": "text", "text": str(text)} if not is_run:
                yield from run.says(text)
            case {"type": "thinking", "thinking": str(text)} if not is_run:
                yield from run.thinks(text)
            case {"type": "tool_use", "id": str(call_id), "name": str(tool)}:
                yield from run.calls(call_id, tool, block.get("input"))
            case _:
                pass


def user(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
    """Read the results of tools."""
    for block in objects_of(object_of(record.get("message")).get("content")):
        match block:
            case {"type": "tool_result", "tool_use_id": str(call_id)}:
                ok = block.get("is_error") is not True
                yield from run.returns(call_id, texts_of(block.get("content")), ok=ok)
            case _:
                pass


def reason(record: JsonObject) -> str:
    """Return why a result is an error."""
    match record:
        case {"errors": [str(first), *_]} | {"error": {"message": str(first)}} | {"result": str(first)} if first:
            return first
        case _:
            return f"{record.get('subtype') or 'no reason given'}"


MESSAGES: Final[Table] = {"system": system, "stream_event": piece, "assistant": assistant, "user": user}
"""All but the result, of which each CLI has its own idea."""
