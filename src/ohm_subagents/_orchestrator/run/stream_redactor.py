"""Redaction of streamed text, which is held back until it is whole: half a secret cannot be recognised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic_core import from_json, to_json

from ohm_subagents.contract.events import AgentEnded, Checkpointed, TextDelta, ThinkingDelta, UsageAdded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.text import Redactor

_MOST: Final = 65_536
_LONGEST_LINE: Final = 1_048_576
_TAIL: Final = 64
_NAMING: Final = (":", "=", '"', "'", "bearer", "basic", "key", "token", "id", "authorization", "secret", "password")
_PARAGRAPH: Final = "\n\n"  # by which a backend sets the texts of two turns apart


class StreamRedactor:
    """Holds streamed text, and the events behind it as long as it may go on. Of a long text, whole lines go on."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._said: list[str] = []
        self._thought: list[str] = []
        self._after: list[Event] = []
        self._chars, self._due = 0, _MOST

    @property
    def is_holding(self) -> bool:
        """Return True if something is held."""
        return bool(self._said or self._thought or self._after)

    def add(self, delta: TextDelta | ThinkingDelta) -> Iterator[Event]:
        """Hold a piece; yield what need not be held any longer."""
        if self._after and delta.text.startswith(_PARAGRAPH):
            yield from self.whole(is_broken=True)
        (self._said if isinstance(delta, TextDelta) else self._thought).append(delta.text)
        self._chars += len(delta.text)
        if self._chars > self._due:
            yield from self._whole_lines()

    def followed_by(self, *events: UsageAdded | AgentEnded | Checkpointed) -> Iterator[Event]:
        """Yield the text, then the events; all later if the text ends in a possible prefix of a secret."""
        self._after += events
        if not any(self._redactor.may_go_on("".join(held)) for held in (self._thought, self._said)):
            yield from self.whole()

    def whole(self, *, is_broken: bool = False) -> Iterator[Event]:
        """Yield all that is held; a text that is broken off loses what may be the beginning of a secret."""
        redacted = self._redactor.cut_off if is_broken else self._redactor.text
        thought, said, after = "".join(self._thought), "".join(self._said), tuple(self._after)
        self._thought.clear()
        self._said.clear()
        self._after.clear()
        self._chars, self._due = 0, _MOST
        if thought:
            yield ThinkingDelta(text=redacted(thought))
        if said:
            yield TextDelta(text=redacted(said))
        yield from after

    def _whole_lines(self) -> Iterator[Event]:
        """Yield the whole lines; of one endless line, whole words."""
        for held, kind in ((self._thought, ThinkingDelta), (self._said, TextDelta)):
            text = "".join(held)
            end = _end_of_lines(text)
            if not end and len(text) > _LONGEST_LINE:
                end = text.rfind(" ", 0, -_MOST) + 1 or len(text)
            held[:] = [text[end:]]
            if end:
                yield kind(text=self._redactor.cut_off(text[:end]))
        self._chars = len(self._thought[0]) + len(self._said[0])
        doubled = 2 * self._chars  # what cannot be cut yet is not looked at again at each piece
        self._due = max(_MOST, doubled if self._chars > _LONGEST_LINE else min(doubled, _LONGEST_LINE))


def _end_of_lines(text: str) -> int:
    """Return where the text may be cut: behind a line that cannot name the secret which the next one begins with."""
    end = text.rfind("\n")
    while end > 0 and text[max(0, end - _TAIL) : end].rstrip().lower().endswith(_NAMING):
        end = text.rfind("\n", 0, end)
    return end + 1


def redacted_json(text: str, redactor: Redactor) -> str:
    """Return a text, JSON or not, without secrets; JSON is compact then."""
    try:
        value: JsonValue = from_json(text)
    except ValueError:
        return redactor.text(text)
    return to_json(redactor.json(value)).decode() if isinstance(value, dict | list) else redactor.text(text)


def redacted_answer(text: str, redactor: Redactor) -> str:
    """Do the same; a text without secrets stays as it was written."""
    try:
        value: JsonValue = from_json(text)
    except ValueError:
        return redactor.text(text)
    is_clean = redactor.text(text) == text and redactor.json(value) == value
    return text if is_clean else redacted_json(text, redactor)
