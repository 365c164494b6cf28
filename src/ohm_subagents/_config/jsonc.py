"""JSON with comments, trailing commas and a byte order mark, and the place of every key."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeAlias, cast

from ohm_subagents._records import dataclass
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

KeyPath: TypeAlias = tuple[str, ...]

MAX_TOKENS: Final = 20_000
_TOKEN: Final = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*"?)
      | (?P<comment>//[^\n]*|/\*[\s\S]*?\*/)
      | (?P<open>/\*)
      | (?P<mark>[\[\]{}:,])
      | (?P<word>[^\s"\[\]{}:,/]+|/)""",
    re.VERBOSE,
)


class Spot(NamedTuple):
    """A character of a text; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedText:
    """A parsed text."""

    value: JsonValue
    """Its value."""
    spots: Mapping[KeyPath, tuple[Spot, ...]]
    """The position of each key path, several if it is repeated. An item of a list is a path too: `("a", "0")`."""

    @property
    def repeated(self) -> tuple[KeyPath, ...]:
        """The paths of the keys that an object gives twice."""
        return tuple(path for path, spots in self.spots.items() if len(spots) > 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxFault:
    """The reason why a text is not JSONC."""

    problem: str
    """In the words of a sentence."""
    line: int
    """1-based; 0 for the text as a whole."""
    column: int
    """1-based."""


def parse_jsonc(text: str) -> Result[ParsedText, SyntaxFault]:
    """Parse by blanking what JSON does not know, in place, so that lines and columns stay the writer's.

    Of a key given twice the last value counts, as in JSON; but two objects are merged and an object is never replaced
    by something else, so that a rule cannot vanish behind a second section of the same name.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        return Err(SyntaxFault(problem="the file is empty", line=0, column=0))
    tokens = [match for match in _TOKEN.finditer(text) if match.lastgroup != "comment"]
    if len(tokens) > MAX_TOKENS:
        return Err(SyntaxFault(problem=f"it has more than {MAX_TOKENS} keys, values and marks", line=0, column=0))
    for token in tokens:
        if token.lastgroup == "open":
            return Err(_fault(text, token.start(), "unterminated comment"))
    try:
        value = cast(
            "JsonValue",
            json.loads(_plain(text, tokens), object_pairs_hook=_merged_pairs, parse_constant=_refuse_constant),
        )
    except json.JSONDecodeError as error:
        return Err(SyntaxFault(problem=_lower_first(error.msg), line=error.lineno, column=error.colno))
    except RecursionError:
        return Err(SyntaxFault(problem="it is nested too deeply", line=0, column=0))
    except ValueError as error:  # NaN, Infinity, and integers longer than Python reads
        return Err(SyntaxFault(problem=str(error), line=0, column=0))
    return Ok(ParsedText(value=value, spots=_spots(text, tokens)))


def _plain(text: str, tokens: list[re.Match[str]]) -> str:
    """Put blanks in place of comments and trailing commas."""
    characters = list(text)
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "comment":
            characters[match.start() : match.end()] = re.sub(r"[^\n]", " ", match.group())
    before = ""
    for token, following in pairwise(tokens):
        if token.group() == "," and following.group() in {"]", "}"} and before not in {"", "[", "{", ",", ":"}:
            characters[token.start()] = " "
        before = token.group()
    return "".join(characters)


def _merged_pairs(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {}
    for key, value in pairs:
        first = members.get(key)
        members[key] = _merged(first, value) if isinstance(first, dict) else value
    return members


def _merged(first: dict[str, JsonValue], second: JsonValue) -> dict[str, JsonValue]:
    if not isinstance(second, dict):
        return first
    return _merged_pairs([*first.items(), *second.items()])


def _refuse_constant(name: str) -> NoReturn:
    msg = f"{name} is not a JSON value"
    raise ValueError(msg)


def _spots(text: str, tokens: list[re.Match[str]]) -> dict[KeyPath, tuple[Spot, ...]]:
    """Walk the tokens of a text that is known to be valid."""
    found: dict[KeyPath, tuple[Spot, ...]] = {}
    path: list[str] = []
    indexes: list[int | None] = []  # one per open container: the element's index in a list, None in an object
    line, begins, seen = 1, 0, 0

    for token, following in pairwise([*tokens, None]):
        if token is None:
            continue
        line += text.count("\n", seen, token.start())
        begins = max(begins, text.rfind("\n", seen, token.start()) + 1)
        seen = token.start()
        spot = Spot(line, seen - begins + 1)
        mark = token.group()
        if indexes and indexes[-1] is not None and mark not in {",", "]"} and len(path) < len(indexes):
            path.append(str(indexes[-1]))
            found[tuple(path)] = (spot,)
        if mark in {"{", "["}:
            indexes.append(0 if mark == "[" else None)
        elif mark in {"}", "]"}:
            del path[len(indexes) - 1 :]
            indexes.pop()
        elif mark == ",":
            del path[len(indexes) - 1 :]
            index = indexes[-1]
            indexes[-1] = None if index is None else index + 1
        elif following is not None and following.group() == ":":
            path.append(cast("str", json.loads(mark)))
            found[tuple(path)] = (*found.get(tuple(path), ()), spot)
    return found


def _fault(text: str, at: int, problem: str) -> SyntaxFault:
    return SyntaxFault(problem=problem, line=text.count("\n", 0, at) + 1, column=at - text.rfind("\n", 0, at))


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
