"""Text without secrets: values that are known to be secret, the forms that any may have, and home directories."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.redaction.known_values import any_of, spelled, without_values
from ohm_subagents.redaction.secret_forms import (
    ENDS,
    REDACTED,
    folded,
    least_under,
    without_homes,
    without_secrets,
    without_unfinished,
)

if TYPE_CHECKING:
    import re

    from pydantic import JsonValue

_LEAST_PREFIX: Final = 4
"""A shorter beginning of a known value says little of it, and is found at the end of too many texts."""
_TAIL: Final = 4096
"""Characters in which a secret at the end of a text has begun."""


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """Cuts known secrets out of a text, besides the forms that every secret may have."""

    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values, as they are; shorter ones than eight characters are left in."""
    homes: tuple[str, ...] = ()
    """Directories that are shown as `~`."""

    def text(self, text: str) -> str:
        """Return the text without secrets and homes."""
        return self._cut(text, is_whole=True)

    def cut_off(self, text: str) -> str:
        """Do the same with a text that broke off: a possible beginning of a secret at its end goes too."""
        return self._cut(text, is_whole=False)

    def may_go_on(self, text: str) -> bool:
        """Return True if a text ends with a secret or the beginning of one: what follows may be the rest of it."""
        tail = text[-_TAIL:]
        cut = self.cut_off(tail)
        return any(cut.endswith(end) and not tail.endswith(end) for end in ENDS)

    def composed(self, text: str) -> str:
        """Return a text that is put together from redacted ones, as it is. See `remembering`."""
        return text

    def remembering(self) -> Redaction:
        """Return one that redacts the same, each text once: for texts that recur, or whose parts make up others."""
        return _Remembering(secrets=self.secrets, homes=self.homes, plain=self)

    def json(self, value: JsonValue) -> JsonValue:
        """Redact every text in a JSON value, keys included; texts under the name of a secret go whole."""
        return self._json(value, least=None)

    def object(self, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Do the same with an object. Of keys that are alike without their secrets, the later ones get a number."""
        return self._object(value, least=None)

    def _json(self, value: JsonValue, *, least: int | None) -> JsonValue:
        """Redact; `least` is the length from which a text is secret for its place, None if it is not."""
        match value:
            case str():
                return self.text(value) if least is None or len(value) < least else REDACTED
            case list():
                return [self._json(item, least=least) for item in value]
            case dict():
                return self._object(value, least=least)
            case _:
                return value

    def _object(self, value: dict[str, JsonValue], *, least: int | None) -> dict[str, JsonValue]:
        kept: dict[str, JsonValue] = {}
        seen: Counter[str] = Counter()
        for key, item in value.items():
            name = shown = self.text(key)
            while shown in kept:
                seen[name] += 1
                shown = f"{name} ({seen[name] + 1})"
            named = value.get("name") if key == "value" else None  # as headers are listed: {"name": ..., "value": ...}
            kept[shown] = self._json(item, least=_least(least, least_under(key), least_under(named)))
        return kept

    def _cut(self, text: str, *, is_whole: bool) -> str:
        if not is_whole:
            text = self._without_beginning(without_unfinished(text))
        text = without_secrets(without_values(text, self._spelt, REDACTED), is_whole=is_whole)
        if self._places is not None:
            text = self._places.sub("~", text)
        return folded(without_homes(text))

    def _without_beginning(self, text: str) -> str:
        """Return the text without a beginning of a known value at its end."""
        longest = max((_overlap(text, form) for form in self._spelt), default=0)
        return f"{text[:-longest]}{REDACTED}" if longest else text

    @cached_property
    def _spelt(self) -> frozenset[str]:
        return spelled(self.secrets)

    @cached_property
    def _places(self) -> re.Pattern[str] | None:
        return any_of({home.rstrip("/\\") for home in self.homes if len(home) > 1}, after=r"(?![\w.-])")


@dataclass(frozen=True, kw_only=True)
class _Remembering(Redaction):
    """Keeps every text that it was asked for, so it must not live longer than what it is for."""

    plain: Redaction
    _known: dict[str, str] = field(default_factory=dict[str, str], init=False, repr=False, compare=False)

    def text(self, text: str) -> str:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self.composed(self.plain.text(text))
        return known

    def cut_off(self, text: str) -> str:
        return self.composed(self.plain.cut_off(text))

    def may_go_on(self, text: str) -> bool:
        return self.plain.may_go_on(text)

    def composed(self, text: str) -> str:
        return self._known.setdefault(text, text)

    def remembering(self) -> Redaction:
        return self.plain.remembering()


def _overlap(text: str, form: str) -> int:
    """Return the length of the longest beginning of `form` that the text ends with."""
    end = text[-len(form) + 1 :]
    at = end.find(form[:_LEAST_PREFIX])
    while at >= 0:
        if form.startswith(end[at:]):
            return len(end) - at
        at = end.find(form[:_LEAST_PREFIX], at + 1)
    return 0


def _least(*found: int | None) -> int | None:
    return min((least for least in found if least is not None), default=None)
