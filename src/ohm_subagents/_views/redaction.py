"""Text without secrets: the forms of the table of 001, values that are known to be secret, and home directories.

Every rule takes time in proportion to the text, whatever the text is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

REDACTED: Final = "[REDACTED]"
MAX_STACK_LINES: Final = 5
_SHOWN_OF_A_FRAME: Final = 100
_LEAST_SECRET: Final = 8
"""A shorter value would be found in words that have nothing to do with it."""

_FLAGS: Final = re.IGNORECASE | re.ASCII
_NAME: Final = r"(?:api[_-]?(?:key|token)|auth[_-]?token|access[_-]?token|secret[_-]?key)"
_AWS: Final = r"AWS[_-]?(?:ACCESS[_-]?KEY[_-]?ID|SECRET[_-]?ACCESS[_-]?KEY)"
_PROVIDER: Final = r"(?:STRIPE(?:[_-](?:SECRET|PUBLISHABLE|API))?[_-]?KEY|(?:OPENAI|ANTHROPIC)[_-]?API[_-]?KEY)"
_QUOTE: Final = r"""(?:\\{0,3}["'])?"""
"""One or none, escaped perhaps: arguments of tools are shown as JSON."""
_IS: Final = rf"{_QUOTE}\s*+[:=]\s*+{_QUOTE}"
_SECRET_KEY: Final = re.compile(rf"{_NAME}|{_AWS}|{_PROVIDER}|authorization", _FLAGS)


def _assigned(name: str, value: str) -> tuple[re.Pattern[str], str]:
    """`NAME=[REDACTED]`, quotes included, with the name as it is written."""
    return re.compile(rf"({name}){_IS}[{value}]{{20,}}+{_QUOTE}", _FLAGS), rf"\1={REDACTED}"


_BEFORE_FRAMES: Final = (
    _assigned(_NAME, r"\w-"),
    (re.compile(r"Bearer\s++(?!\[REDACTED\])[\w.~+/=:-]++", _FLAGS), f"Bearer {REDACTED}"),
    (
        re.compile(rf"""Authorization{_QUOTE}\s*+:\s*+{_QUOTE}(?:Basic\s++(?=\w))?+[^\s"']++""", _FLAGS),
        f"Authorization: {REDACTED}",
    ),
    _assigned(_AWS, r"\w/+=-"),
    (re.compile(r"gh[pousr]_[A-Za-z0-9_]{36,}+", re.ASCII), "[GITHUB_TOKEN_REDACTED]"),
    _assigned(_PROVIDER, r"\w-"),
    (
        re.compile(
            r"""(?:\A|\n|\\n)[ \t]*+export[ \t]++\w++=(?:"[^"\n]{20,}+"|'[^'\n]{20,}+'|[^\s"']{20,}+)""", _FLAGS
        ),
        "[ENV_VAR_REDACTED]",
    ),
)
_AFTER_FRAMES: Final = (
    (
        re.compile(r"""([?&](?:\w{1,40}[_-])?(?:api[_-]?key|token|secret|auth)=)[^\s&#"'<>]{10,}+""", _FLAGS),
        rf"\1{REDACTED}",
    ),
)
_HOMES: Final = (
    (re.compile(r"""(?<![\w.~-])/(?:home|Users)/[^/\s"'`<>:;,()\[\]{}|]++""", re.ASCII), "~"),
    (re.compile(r"""(?<![\w])[A-Z]:\\{1,2}Users\\{1,2}[^\\/\s"'`<>:;,()]++""", _FLAGS), "~"),
    (re.compile(r"""(?<![\w])G:\\{1,2}[^\\/\s"'`<>:;,()]++""", _FLAGS), "~"),
)
_FRAME: Final = re.compile(
    r"(?<!\s)\s++at\s++(?:async\s++)?(?:new\s++)?[^\s()]++\s++(?:\[as [^\s\[\]()]++\]\s++)?\(", re.ASCII
)
_PLACE: Final = re.compile(r"[/\\:<.]|native")
_STACK: Final = re.compile(r"\s+at\s|(?:Type|Reference)?Error:", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Redaction:
    """What is cut out of a text besides the forms that every secret may have.

    `secrets` are values, as they are; shorter ones than eight characters are left in. `homes` are directories that are
    shown as `~`.
    """

    secrets: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """The text without anything of that kind."""
        if self._values is not None:
            text = self._values.sub(REDACTED, text)
        for pattern, replacement in _BEFORE_FRAMES:
            text = pattern.sub(replacement, text)
        text = _without_frames(text)
        for pattern, replacement in _AFTER_FRAMES:
            text = pattern.sub(replacement, text)
        if self._places is not None:
            text = self._places.sub("~", text)
        for pattern, replacement in _HOMES:
            text = pattern.sub(replacement, text)
        return _folded(text)

    def broken_off(self, text: str) -> str:
        """The same of a text that has no end."""
        return self.text(text)

    def json(self, value: JsonValue) -> JsonValue:
        """The same of every text in a JSON value, keys included; a text under the name of a secret goes whole."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.json(item) for item in value]
            case dict():
                return self.object(value)
            case _:
                return value

    def object(self, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """The same of an object."""
        return {
            self.text(key): REDACTED if isinstance(item, str) and _is_secret(key, item) else self.json(item)
            for key, item in value.items()
        }

    @cached_property
    def _values(self) -> re.Pattern[str] | None:
        forms = {form for secret in self.secrets if len(secret) >= _LEAST_SECRET for form in _forms(secret)}
        return _any_of(forms)

    @cached_property
    def _places(self) -> re.Pattern[str] | None:
        return _any_of({home.rstrip("/\\") for home in self.homes if len(home) > 1}, after=r"(?![\w.-])")


def _forms(secret: str) -> Iterable[str]:
    """A value as it is, and as JSON and an address write it."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="")


def _any_of(texts: Iterable[str], *, after: str = "") -> re.Pattern[str] | None:
    longest_first = sorted(filter(None, texts), key=lambda text: (-len(text), text))
    return re.compile(f"(?:{'|'.join(map(re.escape, longest_first))}){after}") if longest_first else None


def _is_secret(key: str, value: str) -> bool:
    """Whether a value is secret by its name: the value of `Authorization` always, of a key one that is long enough."""
    named = _SECRET_KEY.search(key)
    return named is not None and (len(value) >= 20 or named.group().lower() == "authorization")


def _without_frames(text: str) -> str:
    """Frames of a stack without what they are of and where; blanks and lines before them go as well."""
    kept: list[str] = []
    done = 0
    while (frame := _FRAME.search(text, done)) is not None:
        end = text.find(")", frame.end())
        if end < 0:
            break
        if _PLACE.search(text, frame.end(), end):
            kept += (text[done : frame.start()], " at [REDACTED_PATH]")
        else:  # a word in brackets, as in any sentence
            kept.append(text[done : end + 1])
        done = end + 1
    return "".join((*kept, text[done:]))


def _folded(text: str) -> str:
    """The text with at most five lines of a stack."""
    kept: list[str] = []
    frames = 0
    for line in text.split("\n"):
        if _STACK.match(line) is None:
            kept.append(line)
            continue
        frames += 1
        if frames <= MAX_STACK_LINES:
            kept.append(line)
        elif frames == MAX_STACK_LINES + 1:
            cut = line if len(line) <= _SHOWN_OF_A_FRAME else f"{line[:_SHOWN_OF_A_FRAME]}..."
            kept += (f"    ... [{cut}]", "    [Additional stack frames truncated]")
    return "\n".join(kept)
