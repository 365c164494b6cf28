"""The history of a task as the messages that `pi` keeps of a session."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from pydantic import JsonValue
from pydantic_core import from_json

from ohm_subagents.contract.events import (
    FollowUpTaken,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    UsageAdded,
)
from ohm_subagents.contract.text import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ohm_subagents.contract.events import Event, Recorded

Message: TypeAlias = dict[str, JsonValue]
"""`role` (user, assistant, toolResult) and `content`, a list of parts: `text`, or `toolCall` with `arguments`."""

MAX_MESSAGES: Final = 500
_PARAGRAPH: Final = "\n\n"


class MessageLog:
    """The messages of a task so far, from its events; of many the newest, `most` of them, or with None all.

    `prompt` is the first message of the user, as it was given; None for the prompt that the backend got. A message of
    the assistant holds what it said, then the calls it made in the same turn: text after a report of usage is of the
    next turn, calls are not, since a model is charged for a turn before its calls are carried out.
    """

    def __init__(self, prompt: str | None = None, *, most: int | None = MAX_MESSAGES) -> None:
        self._prompt = prompt
        self._most = most
        self._closed: deque[Message] = deque(maxlen=most)
        self._parts: list[JsonValue] = []
        self._pieces: list[str] = []
        self._said: deque[str] = deque(maxlen=most)
        self._has_calls = False
        self._is_charged = False
        self._takes_calls = True

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages that are kept, with the one that is being written."""
        draft = [*self._parts, *([_text_part(self._text())] if self._pieces else [])]
        newest: tuple[Message, ...] = (_message("assistant", draft),) if draft else ()
        return (*self._closed, *newest)[-self._most if self._most else None :]

    def add(self, event: Event) -> None:
        """Take in what happened; an event that is no message changes nothing."""
        match event:
            case TextDelta(text=text) if text:
                self._say(text)
            case ThinkingDelta():
                self._think()
            case ToolStarted():
                self._call(event)
            case UsageAdded():
                self._is_charged, self._takes_calls = True, not self._has_calls
            case ToolEnded():
                self._close()
                self._closed.append(_result(event))
            case RunStarted(prompt=prompt):
                self._ask(prompt if self._prompt is None else self._prompt)
                self._prompt = None
                self._said.clear()
            case FollowUpTaken(prompt=prompt):
                self._ask(prompt)
            case RunEnded(output=output):
                if self.is_news(output):
                    self._close()
                    self._closed.append(_message("assistant", [_text_part(output)]))
                self._close()
            case _:  # the other events are no messages, and a new one is not either unless it is added above
                pass

    def is_news(self, output: str) -> bool:
        """Return True for an output that was not streamed: neither the last message nor all of them together."""
        said = [*self._said, *([self._text()] if self._pieces else [])]
        answer = _squeezed(output)
        return bool(answer) and answer not in {_squeezed("".join(said[-1:])), _squeezed("".join(said))}

    def _say(self, text: str) -> None:
        if self._is_charged:
            self._close()
            text = text.removeprefix(_PARAGRAPH)  # a backend sets two turns apart by one
        if text:
            self._pieces.append(text)

    def _think(self) -> None:
        if self._is_charged:
            self._close()
        self._end_text()

    def _call(self, event: ToolStarted) -> None:
        if not self._takes_calls:
            self._close()
        self._end_text()
        call = {"id": encodable(event.call_id), "name": encodable(event.tool)}
        self._parts.append({"type": "toolCall", **call, "arguments": arguments_in(encodable(event.args))})
        self._has_calls = True

    def _ask(self, prompt: str) -> None:
        self._close()
        self._closed.append(_message("user", [_text_part(prompt)]))

    def _text(self) -> str:
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def _end_text(self) -> None:
        if self._pieces:
            text = self._text()
            self._parts.append(_text_part(text))
            self._said.append(text)
            self._pieces = []

    def _close(self) -> None:
        self._end_text()
        if self._parts:
            self._closed.append(_message("assistant", self._parts))
        self._parts = []
        self._has_calls, self._is_charged, self._takes_calls = False, False, True


def messages_of(history: Iterable[Recorded], *, prompt: str | None = None) -> tuple[Message, ...]:
    """Return the messages of a recorded task; `prompt` as in `MessageLog`."""
    log = MessageLog(prompt)
    for recorded in history:
        log.add(recorded.event)
    return log.messages


def arguments_in(args: str) -> dict[str, JsonValue]:
    """Parse the arguments of a tool call; none if they are not a JSON object."""
    try:
        arguments: object = from_json(args, allow_inf_nan=False)
    except (ValueError, TypeError):  # a TypeError is about half a character
        return {}
    return cast("dict[str, JsonValue]", arguments) if isinstance(arguments, dict) else {}


def text_of(message: Mapping[str, JsonValue]) -> str:
    """Return the text parts of a message, one below the other; empty for any other JSON object."""
    return "\n".join(text for text in _texts(message.get("content")) if text)


def calls_of(message: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Yield name and arguments of each tool call in a message."""
    for part in _parts(message.get("content")):
        name = part.get("name")
        if part.get("type") == "toolCall" and isinstance(name, str):
            yield name, part.get("arguments")


def _texts(content: JsonValue) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in _parts(content):
        text = part.get("text")
        if part.get("type") == "text" and isinstance(text, str):
            yield text


def _parts(content: JsonValue) -> Iterator[dict[str, JsonValue]]:
    return (part for part in (content if isinstance(content, list) else ()) if isinstance(part, dict))


def _text_part(text: str) -> JsonValue:
    return {"type": "text", "text": encodable(text)}


def _message(role: str, parts: list[JsonValue]) -> Message:
    return {"role": role, "content": parts}


def _result(event: ToolEnded) -> Message:
    result = _message("toolResult", [_text_part(event.text)])
    call = {"toolCallId": encodable(event.call_id), "toolName": encodable(event.tool)}
    result |= {**call, "isError": event.status != "success"}
    return result


def _squeezed(text: str) -> str:
    """Remove blanks: texts of several turns are put together in more than one way."""
    return "".join(text.split())
