"""The messages of a post. What its runs have in common is in it once: of many runs at a time, that is nearly all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic_core import to_json

from ohm_subagents.contract.wire import WireError
from ohm_subagents.remote.portion import MAX_POSTED, MAX_POSTED_BYTES, portion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import JsonValue

    from ohm_subagents.contract.wire import Post, WireObject

_COMMON: Final = ("profile", "instructions")
"""The parts of the `spec` of a run that others have too."""
_SHARED: Final = "shared"


def posted(
    unsent: Iterable[tuple[WireObject, int]], *, shares: bool
) -> tuple[tuple[WireObject, ...], tuple[JsonValue, ...]]:
    """Return the messages of the next post and, if that `shares` them, the parts that those refer to.

    Each message comes with its bytes of text.
    """
    if not shares:
        return portion(unsent, most=MAX_POSTED, most_bytes=MAX_POSTED_BYTES), ()
    common = _Common()
    referring = (common.referring(message, size) for message, size in unsent)
    messages = portion(referring, most=MAX_POSTED, most_bytes=MAX_POSTED_BYTES)
    return messages, common.needed_by(len(messages))


def received(post: Post, message: WireObject) -> WireObject:
    """Return a message of a post with all of its parts. Raises `WireError` if it refers to one that is not there."""
    run, spec = _run_of(message) if post.shared else (None, None)
    if run is None or spec is None:
        return message
    parts: WireObject = {name: _whole(spec[name], post.shared) for name in _COMMON if name in spec}
    return {**message, "run": {**run, "spec": {**spec, **parts}}}


class _Common:
    """The parts that the runs of a post have in common, in the order in which these need them."""

    def __init__(self) -> None:
        self._parts: list[JsonValue] = []
        self._places: dict[int, tuple[int, int]] = {}
        self._texts: dict[bytes, tuple[int, int]] = {}
        self._needed: list[int] = []

    def needed_by(self, count: int) -> tuple[JsonValue, ...]:
        """Return the parts that the first `count` messages refer to."""
        return tuple(self._parts[: self._needed[count - 1]]) if count else ()

    def referring(self, message: WireObject, size: int) -> tuple[WireObject, int]:
        """Return a message that refers to its parts, and its bytes with those of the parts that are new."""
        run, spec = _run_of(message)
        if run is not None and spec is not None:
            referred = {**spec}
            for name in _COMMON:
                place, known_bytes = self._place(spec[name])
                referred[name] = {_SHARED: place}
                size -= known_bytes
            message = {**message, "run": {**run, "spec": referred}}
        self._needed.append(len(self._parts))
        return message, size

    def _place(self, part: JsonValue) -> tuple[int, int]:
        """Return the place of a part, and its bytes if it has that already: the same object has, and an equal text."""
        known = self._places.get(id(part))
        if known is not None:
            return known
        text = to_json(part)
        known = self._texts.get(text)
        if known is not None:
            return known
        self._parts.append(part)
        known = self._texts[text] = self._places[id(part)] = len(self._parts) - 1, len(text)
        return known[0], 0


def _run_of(message: WireObject) -> tuple[WireObject | None, WireObject | None]:
    """Return the run that a message begins, and its `spec`."""
    run = message.get("run") if message.get("kind") == "start" else None
    spec = run.get("spec") if isinstance(run, dict) else None
    return (run, spec) if isinstance(run, dict) and isinstance(spec, dict) else (None, None)


def _whole(value: JsonValue, shared: Sequence[JsonValue]) -> JsonValue:
    place = value.get(_SHARED) if isinstance(value, dict) else None
    if not isinstance(place, int):
        return value
    if not 0 <= place < len(shared):
        missing = f"It refers to part {place} of {len(shared)} that its post shares."
        raise WireError(missing)
    return shared[place]
