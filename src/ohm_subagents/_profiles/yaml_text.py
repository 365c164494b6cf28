"""YAML 1.2 with the line of every key; the only door to PyYAML, which is imported when a file is read."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yaml import Node, SafeDumper, ScalarNode

MAX_BYTES: Final = 16 * 1024
MAX_DEPTH: Final = 32
"""The most brackets that may be open at once: the scanner looks at all of them at each character."""
_BRACKET: Final = re.compile(r"[\[\]{}]")
_INTEGER: Final = re.compile(r"(?P<ten>[-+]?[0-9][0-9_]*)|0o(?P<eight>[0-7]+)|0x(?P<sixteen>[0-9a-fA-F]+)")
_FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_BASES: Final = {"ten": 10, "eight": 8, "sixteen": 16}
_WORDS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
"""The plain scalars of YAML 1.2 that are no text and no number: `yes` and `on` are text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlText:
    """The plain values of a text, and where each is written."""

    values: object
    """Objects, lists, texts, numbers, switches and None."""
    lines: Mapping[tuple[int | str, ...], int]
    """The line (1-based) of each key and list item."""

    def line(self, location: Sequence[int | str]) -> int:
        """Return the line of a location, or of the nearest one around it."""
        path = tuple(location)
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlFault:
    """The reason why a text cannot be read."""

    fact: str = "is not valid YAML"
    """The fault, as the predicate of a sentence."""
    advice: str
    """A sentence on what it comes from or what to do; it quotes no value, which may be a secret."""
    line: int
    """Its place, 1-based."""


def parse_yaml(text: str) -> Result[YamlText, YamlFault]:
    """Read one document of at most 16 KiB; anchors, aliases, merge keys, tags, and a key given twice are refused."""
    import yaml  # noqa: PLC0415  10 ms, spent where a file is read

    if len(text.encode(errors="replace")) > MAX_BYTES:
        return Err(YamlFault(fact=f"has more than {MAX_BYTES} bytes of keys", advice="Shorten them.", line=1))
    if _depth(text) > MAX_DEPTH:
        return Err(YamlFault(advice="It is nested too deeply.", line=1))
    try:
        refused = _refused(text)
        if refused is not None:
            return Err(refused)
        node = yaml.compose(text, Loader=yaml.BaseLoader)
        reading = _Reading()
        return Ok(YamlText(values=None if node is None else reading.value(node, ()), lines=reading.lines))
    except _OddError as odd:
        return Err(YamlFault(advice=odd.advice, line=odd.line))
    except yaml.MarkedYAMLError as error:
        return Err(YamlFault(advice=_advice(error), line=_line(error.problem_mark or error.context_mark)))
    except yaml.YAMLError:
        return Err(YamlFault(advice="It has a character that YAML does not allow.", line=1))
    except ValueError:  # Python reads no integer of thousands of digits
        return Err(YamlFault(advice="It has a number that is too long.", line=1))
    except RecursionError:
        return Err(YamlFault(advice="It is nested too deeply.", line=1))


def _depth(text: str) -> int:
    """Count how many brackets are open at once, those within texts as well."""
    depth = deepest = 0
    for mark in _BRACKET.findall(text):
        depth = depth + 1 if mark in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _refused(text: str) -> YamlFault | None:
    """Refuse what would make the values more than what is written, or of a kind that no file here needs."""
    import yaml  # noqa: PLC0415  as above

    if not any(mark in text for mark in ("&", "*", "<<", "!")):  # it would be found nowhere else
        return None
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        is_merge = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.style is None
        has_anchor = getattr(event, "anchor", None) is not None
        if is_merge or has_anchor or getattr(event, "tag", None) is not None:
            fact = "has an anchor, an alias or a merge key" if is_merge or has_anchor else "has a tag"
            return YamlFault(fact=fact, advice="Write the value itself.", line=_line(event.start_mark))
    return None


def _line(mark: object) -> int:
    """Return the line (1-based) of a mark of PyYAML, which has two types of them; 1 without one."""
    return int(getattr(mark, "line", 0)) + 1


def _advice(error: Exception) -> str:
    """Describe a fault; the words of PyYAML quote values."""
    from yaml.composer import ComposerError  # noqa: PLC0415  as above
    from yaml.scanner import ScannerError  # noqa: PLC0415  as above

    match error:
        case ComposerError():
            return "It has more than one document."
        case ScannerError():
            return "A character stands where it cannot: put a text that has ': ' or begins with a mark in quotes."
        case _:
            return "A key, a list or an object is out of line or not closed."


class _OddError(Exception):
    """A node that has no plain value."""

    def __init__(self, node: Node, advice: str) -> None:
        super().__init__(advice)
        self.advice = advice
        self.line = _line(node.start_mark)


@dataclass(slots=True)
class _Reading:
    """The values of a document while its nodes are read, and their lines."""

    lines: dict[tuple[int | str, ...], int] = field(default_factory=dict[tuple[int | str, ...], int])

    def value(self, node: Node, path: tuple[int | str, ...]) -> object:
        """Return the plain value of a node."""
        import yaml  # noqa: PLC0415  as above

        if isinstance(node, yaml.ScalarNode):
            return node.value if node.style else _scalar(node.value)
        if isinstance(node, yaml.SequenceNode):
            return [self._member(item, item, (*path, index)) for index, item in enumerate(node.value)]
        members: dict[object, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _OddError(node, "It has a key or a value of a kind that is not allowed.")
            name = self.value(key, path)
            if name in members:
                raise _OddError(key, "It gives a key twice.")
            members[name] = self._member(key, value, (*path, key.value))
        return members

    def _member(self, at: Node, value: Node, path: tuple[int | str, ...]) -> object:
        self.lines[path] = _line(at.start_mark)
        return self.value(value, path)


def _scalar(text: str) -> object:
    """Return the value of a plain scalar by the core schema of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if integer := _INTEGER.fullmatch(text):
        base = integer.lastgroup or "ten"
        return int(integer[base].replace("_", ""), _BASES[base])
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan")) if _FLOAT.fullmatch(text) else text


def dump_yaml(values: Mapping[str, object]) -> str:
    """Write a mapping as YAML that `parse_yaml` reads back, its keys in their order, each text on its own lines."""
    import yaml  # noqa: PLC0415  10 ms, spent where a file is written

    return yaml.dump(  # pyright: ignore[reportUnknownMemberType]  newer stubs name a type of `width` that is nowhere
        dict(values), Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=sys.maxsize
    )


@cache
def _dumper() -> type[SafeDumper]:
    """Return a dumper that quotes what YAML 1.2 and 1.1 read in two ways: numbers, and one mark of a line's end."""
    import yaml  # noqa: PLC0415  as above

    class Dumper(yaml.SafeDumper):
        """A table of its own for what is added here."""

    def text(_dumper: SafeDumper, value: str) -> ScalarNode:
        is_number = any(pattern.fullmatch(value) for pattern in (_INTEGER, _FLOAT))
        style = '"' if is_number or "\x85" in value else None
        return yaml.ScalarNode("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper
