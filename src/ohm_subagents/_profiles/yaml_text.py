"""YAML 1.2 with the line of every key; the only door to ruamel.yaml, which is imported when a file is read."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Final, Protocol, TextIO, cast

from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MAX_BYTES: Final = 16 * 1024
MAX_DEPTH: Final = 32
"""How many brackets may be open at once: ruamel.yaml looks at all of them at each character."""
_BRACKET: Final = re.compile(r"[\[\]{}]")
_ODD: Final = "It has a key or a value of a kind that is not allowed."


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlText:
    """The plain values of a text, and the line (1-based) of each key and list item."""

    values: object
    lines: Mapping[tuple[int | str, ...], int]

    def line(self, location: Sequence[int | str]) -> int:
        """The line of a location, or of the nearest one around it."""
        path = tuple(location)
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlFault:
    """What is wrong, in the words of a sentence, what that comes from, and on which line (1-based)."""

    fact: str = "is not valid YAML"
    advice: str
    line: int


class _Mark(Protocol):
    line: int


class _Node(Protocol):
    id: str
    start_mark: _Mark
    value: object


class _Event(Protocol):
    start_mark: _Mark
    anchor: str | None
    tag: str | None
    value: str
    implicit: tuple[bool, bool]


class _MarkedError(Protocol):
    problem_mark: _Mark | None
    context_mark: _Mark | None


class _Constructor(Protocol):
    def construct_document(self, node: _Node) -> object: ...


class _Yaml(Protocol):
    constructor: _Constructor
    compose: Callable[[str], _Node | None]
    parse: Callable[[str], Iterator[_Event]]


class _Writer(Protocol):
    default_flow_style: bool
    sort_base_mapping_type_on_output: bool
    allow_unicode: bool
    width: int

    def dump(self, data: object, stream: TextIO) -> None: ...


def parse_yaml(text: str) -> Result[YamlText, YamlFault]:
    """Read one document of at most 16 KiB; anchors, aliases, merge keys, tags, and a key given twice are refused.

    No fault quotes a value: it may be a secret.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415  10 ms, spent where a file is read
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    if len(text.encode(errors="replace")) > MAX_BYTES:
        return Err(YamlFault(fact=f"has more than {MAX_BYTES} bytes of keys", advice="Shorten them.", line=1))
    if _depth(text) > MAX_DEPTH:
        return Err(YamlFault(advice="It is nested too deeply.", line=1))
    yaml = cast("_Yaml", YAML(typ="safe", pure=True))
    try:
        refused = _refused(text, yaml)
        if refused is not None:
            return Err(refused)
        node = yaml.compose(text)
        if node is None:
            return Ok(YamlText(values=None, lines={}))
        return Ok(YamlText(values=yaml.constructor.construct_document(node), lines=_lines(node)))
    except MarkedYAMLError as error:
        told = cast("_MarkedError", error)
        mark = told.problem_mark or told.context_mark
        return Err(YamlFault(advice=_advice(error), line=mark.line + 1 if mark else 1))
    except YAMLError:
        return Err(YamlFault(advice="It has a character that YAML does not allow.", line=1))
    except (ValueError, OverflowError):
        return Err(YamlFault(advice="It has a date or a number that does not exist.", line=1))
    except TypeError:  # a list that has one as a key
        return Err(YamlFault(advice=_ODD, line=1))
    except RecursionError:
        return Err(YamlFault(advice="It is nested too deeply.", line=1))


def _depth(text: str) -> int:
    """How many brackets are open at once, those within texts counted as well."""
    depth = deepest = 0
    for mark in _BRACKET.findall(text):
        depth = depth + 1 if mark in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _refused(text: str, yaml: _Yaml) -> YamlFault | None:
    """What would make the values more than what is written, or of a kind that nobody needs here."""
    if not any(mark in text for mark in ("&", "*", "<<", "!")):  # it would be found nowhere else
        return None
    for event in yaml.parse(text):
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        is_merge = getattr(event, "value", None) == "<<" and event.implicit[0]
        if anchor is not None or tag is not None or is_merge:
            fact = "has a tag" if anchor is None and not is_merge else "has an anchor, an alias or a merge key"
            return YamlFault(fact=fact, advice="Write the value itself.", line=event.start_mark.line + 1)
    return None


def _advice(error: Exception) -> str:
    """The words of ruamel.yaml quote values, so these are ours."""
    from ruamel.yaml.composer import ComposerError  # noqa: PLC0415  as above
    from ruamel.yaml.constructor import ConstructorError, DuplicateKeyError  # noqa: PLC0415  as above
    from ruamel.yaml.scanner import ScannerError  # noqa: PLC0415  as above

    match error:
        case DuplicateKeyError():
            return "It gives a key twice."
        case ConstructorError():
            return _ODD
        case ComposerError():
            return "It has more than one document."
        case ScannerError():
            return "A character stands where it cannot: put a text that has ': ' or begins with a mark in quotes."
        case _:
            return "A key, a list or an object is out of line or not closed."


def dump_yaml(values: Mapping[str, object]) -> str:
    """A mapping as YAML that `parse_yaml` reads back, its keys in their order, each text on as few lines as it has."""
    from ruamel.yaml import YAML  # noqa: PLC0415  10 ms, spent where a file is written

    yaml = cast("_Writer", YAML(typ="safe", pure=True))
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False
    yaml.allow_unicode = True
    yaml.width = sys.maxsize
    text = StringIO()
    yaml.dump(dict(values), text)
    return text.getvalue()


def _lines(root: _Node) -> dict[tuple[int | str, ...], int]:
    """Each node once: aliases may make the tree a graph."""
    found: dict[tuple[int | str, ...], int] = {}
    seen: set[int] = set()
    left: list[tuple[tuple[int | str, ...], _Node]] = [((), root)]
    while left:
        path, node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.id == "mapping":
            for key, value in cast("list[tuple[_Node, _Node]]", node.value):
                below = (*path, str(key.value))
                found[below] = key.start_mark.line + 1
                left.append((below, value))
        elif node.id == "sequence":
            for index, item in enumerate(cast("list[_Node]", node.value)):
                below = (*path, index)
                found[below] = item.start_mark.line + 1
                left.append((below, item))
    return found
