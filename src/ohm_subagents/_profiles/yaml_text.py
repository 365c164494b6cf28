"""YAML 1.2 with the line of every key; the only door to ruamel.yaml, which is imported when a file is read."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


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
    """What is wrong, and on which line (1-based)."""

    problem: str
    line: int


class _Mark(Protocol):
    line: int


class _Node(Protocol):
    id: str
    start_mark: _Mark
    value: object


class _MarkedError(Protocol):
    problem: str | None
    context: str | None
    problem_mark: _Mark | None
    context_mark: _Mark | None


class _Constructor(Protocol):
    def construct_document(self, node: _Node) -> object: ...


class _Yaml(Protocol):
    constructor: _Constructor
    compose: Callable[[str], _Node | None]


class _Writer(Protocol):
    default_flow_style: bool
    sort_base_mapping_type_on_output: bool
    allow_unicode: bool
    width: int

    def dump(self, data: object, stream: TextIO) -> None: ...


def parse_yaml(text: str) -> Result[YamlText, YamlFault]:
    """Read one document; tags of Python's own are refused, a key given twice as well."""
    from ruamel.yaml import YAML  # noqa: PLC0415  10 ms, spent where a file is read
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    yaml = cast("_Yaml", YAML(typ="safe", pure=True))
    try:
        node = yaml.compose(text)
        if node is None:
            return Ok(YamlText(values=None, lines={}))
        return Ok(YamlText(values=yaml.constructor.construct_document(node), lines=_lines(node)))
    except MarkedYAMLError as error:
        told = cast("_MarkedError", error)
        mark = told.problem_mark or told.context_mark
        problem = (told.problem or told.context or "it cannot be read").strip().splitlines()[0]
        return Err(YamlFault(problem=problem, line=mark.line + 1 if mark else 1))
    except (YAMLError, ValueError) as error:  # a control character, or a date that does not exist
        return Err(YamlFault(problem=str(error).strip().splitlines()[0], line=1))
    except RecursionError:
        return Err(YamlFault(problem="it is nested too deeply", line=1))


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
