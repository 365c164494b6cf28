"""Runs of a session as text: for the sub-agent that continues it, and for the agent that retrieves it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import encodable
from ohm_subagents.views import calls_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import JsonValue

    from ohm_subagents.suites.delegate.details import SessionRun

NO_OUTPUT: Final = "(no text output from sub-agent)"
NO_MESSAGES: Final = "(no messages in session)"
_MAX_ARGUMENTS: Final = 120
_MAX_RESULT: Final = 500


def resume_text(runs: Sequence[SessionRun]) -> str:
    """Return the text that a sub-agent reads before its prompt: every run so far, and that its instructions follow."""
    parts = ["\n".join(_retold(number, run)) for number, run in enumerate(runs, start=1)]
    return encodable("\n\n".join(["Previously:", *parts, "Instructions:"]))


def session_text(runs: Sequence[SessionRun]) -> str:
    """Return what the sub-agent said and did in all runs; numbered if there are several."""
    if len(runs) == 1:
        return encodable("\n".join(_done(runs[0]))) or NO_MESSAGES
    of = len(runs)
    headed = (
        "\n".join([f"=== Run {number}/{of} ({run.status}) ===", *_done(run)])
        for number, run in enumerate(runs, start=1)
    )
    return encodable("\n---\n".join(headed)) or NO_MESSAGES


def output_text(run: SessionRun) -> str:
    """Return the last message of the assistant that says something."""
    said = (text_of(message) for message in reversed(run.messages) if message.get("role") == "assistant")
    return encodable(next((text for text in said if text.strip()), NO_OUTPUT))


def _retold(number: int, run: SessionRun) -> Iterator[str]:
    yield f"--- Run {number} ({run.status}, {len(run.messages)} messages) ---"
    for message in run.messages:
        text = text_of(message)
        match message.get("role"):
            case "user" if text:
                yield f"User: {text}"
            case "assistant":
                if text:
                    yield f"Assistant: {text}"
                for name, arguments in calls_of(message):
                    yield f"Tool Call: {name}({_bare(arguments)[:_MAX_ARGUMENTS]})"
            case "toolResult" if text:
                yield f"Tool Result: {_cut(text)}"
            case _:  # what a host keeps besides
                pass
    yield from _error(run)


def _done(run: SessionRun) -> Iterator[str]:
    for message in run.messages:
        text = text_of(message)
        match message.get("role"):
            case "assistant":
                if text:
                    yield text
                for name, arguments in calls_of(message):
                    yield f"→ {name}: {_compact(arguments)[:_MAX_ARGUMENTS]}"
            case "toolResult" if text:
                yield f"[tool result]: {_cut(text)}"
            case _:  # the user knows what they asked
                pass
    yield from _error(run)


def _error(run: SessionRun) -> Iterator[str]:
    if run.error_message:
        yield f"[Error: {run.error_message}]"


def _bare(arguments: JsonValue) -> str:
    """Return the value itself, if it is the only one and a text."""
    match arguments:
        case {**values} if len(values) == 1:
            (value,) = values.values()
            return value if isinstance(value, str) else _compact(arguments)
        case _:
            return _compact(arguments)


def _compact(arguments: JsonValue) -> str:
    try:
        return json.dumps({} if arguments is None else arguments, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return "{}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_RESULT else f"{text[:_MAX_RESULT]}..."
