"""One source of configuration: its raw values, and where each is written."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import JsonValue

from ohm_subagents._config.jsonc import KeyPath, SyntaxFault, parse_jsonc
from ohm_subagents._config.regular_file import read_regular
from ohm_subagents._config.trust import Covers, trust_nothing
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.contract.diagnostics import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """The place where a value is written; as text `file:line`."""

    source: str
    """The file, `config` for a mapping, or `env NAME`."""
    key: str
    """Its dotted key as it is written there."""
    line: int | None = None
    """1-based; None in no file."""
    column: int | None = None
    """1-based; None in no file."""

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"

    def diagnostic(self, message: str, *, advice: str = "", severity: Severity = "warning") -> Diagnostic:
        return Diagnostic(
            subject=self.key,
            message=message,
            advice=advice,
            severity=severity,
            source=None if self.source == f"env {self.key}" else self.source,
            line=self.line,
            column=self.column,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The values of one source."""

    kind: Literal["user", "project", "given", "environment"]
    """Whose it is."""
    source: str
    """The file, or the name of another source."""
    values: Mapping[str, JsonValue]
    """The values as they are written."""
    places: Mapping[KeyPath, Location]
    """The place of each."""
    repeated: tuple[KeyPath, ...] = ()
    """The keys that it gives twice."""
    is_trusted: bool = False
    """True for a project's file that its user trusts."""

    def place(self, path: KeyPath) -> Location:
        """Return the place of a value, or of the nearest value around it."""
        if path in self.places:
            return self.places[path]
        around = next((self.places[path[:n]] for n in range(len(path) - 1, 0, -1) if path[:n] in self.places), None)
        if around is None:
            return Location(source=self.source, key=".".join(path))
        return Location(source=self.source, key=".".join(path), line=around.line, column=around.column)


def leaves(values: Mapping[str, JsonValue], path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the paths of everything that is not an object."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def value_at(values: Mapping[str, JsonValue], path: KeyPath) -> JsonValue:
    """Return the value of a path; None where there is none."""
    inner = values.get(path[0])
    if len(path) == 1:
        return inner
    return value_at(inner, path[1:]) if isinstance(inner, dict) else None


def object_at(values: Mapping[str, JsonValue], path: KeyPath) -> dict[str, JsonValue]:
    """Return the object of a path; an empty one where there is none."""
    found = value_at(values, path)
    return found if isinstance(found, dict) else {}


def with_value(values: Mapping[str, JsonValue], path: KeyPath, value: JsonValue) -> dict[str, JsonValue]:
    """Return the values with another one at a path."""
    first, *rest = path
    inner = values.get(first)
    return {
        **values,
        first: with_value(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value,
    }


def merged(lower: Mapping[str, JsonValue], upper: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Join two objects key by key; of two values that are no objects, the upper one counts."""
    joined = {**lower, **upper}
    for key in lower.keys() & upper.keys():
        below, above = lower[key], upper[key]
        if isinstance(below, dict) and isinstance(above, dict):
            joined[key] = merged(below, above)
    return joined


def without_values(layer: Layer, void: Collection[KeyPath]) -> Layer:
    """Return the layer without the values of these paths."""
    if not void:
        return layer

    def rest(values: Mapping[str, JsonValue], at: KeyPath) -> dict[str, JsonValue]:
        return {
            key: rest(value, (*at, key)) if isinstance(value, dict) else value
            for key, value in values.items()
            if (*at, key) not in void
        }

    places = {path: place for path, place in layer.places.items() if path not in void}
    return replace(layer, values=rest(layer.values, ()), places=places)


def read_settings(
    path: Path, kind: Literal["user", "project", "given"], *, trusts: Covers = trust_nothing
) -> Result[Layer | None, OhmError]:
    """Read the layer of a file; None if there is no such file. `trusts` is asked about a project's.

    A file that cannot be read whole is an error: what it denies must not vanish with it.
    """
    try:
        text = read_regular(path).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return Ok(None)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        column = error.start - error.object.rfind(b"\n", 0, error.start)
        return Err(_unusable(str(path), SyntaxFault(problem="it is not UTF-8 text", line=line, column=column)))
    except OSError as error:
        problem = (error.strerror or type(error).__name__).lower()
        fault = SyntaxFault(problem=problem, line=0, column=0)
        return Err(_unusable(str(path), fault, remedy="Put a file there that this process may read"))
    read = _layer(text, str(path), kind, numbered=True)
    if isinstance(read, Err):
        return Err(read.err_value)
    return Ok(replace(read.ok_value, is_trusted=kind == "project" and trusts(path, text)))


def read_mapping(values: Mapping[str, JsonValue]) -> Result[Layer, OhmError]:
    """Return the layer of a mapping that a program gives: a copy, so that later changes do not reach it."""
    try:
        text = json.dumps(values, default=_as_dict, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return Err(_unusable("`config`", SyntaxFault(problem=f"it is not JSON ({error})", line=0, column=0)))
    return _layer(text, "config", "given", numbered=False)


def _as_dict(value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        return {**value}
    msg = f"a value is of type {type(value).__name__}"
    raise TypeError(msg)


def _layer(
    text: str, source: str, kind: Literal["user", "project", "given"], *, numbered: bool
) -> Result[Layer, OhmError]:
    parsed = parse_jsonc(text)
    if isinstance(parsed, Err):
        return Err(_unusable(source, parsed.err_value))
    document = parsed.ok_value
    if not isinstance(document.value, dict):
        return Err(_unusable(source, SyntaxFault(problem="the text has to be an object in braces", line=1, column=1)))
    places = {
        path: Location(
            source=source,
            key=".".join(path),
            line=spots[-1].line if numbered else None,
            column=spots[-1].column if numbered else None,
        )
        for path, spots in document.spots.items()
    }
    values = {key: value for key, value in document.value.items() if key != "$schema"}  # that one is for editors
    return Ok(Layer(kind=kind, source=source, values=values, places=places, repeated=document.repeated))


def _unusable(source: str, fault: SyntaxFault, *, remedy: str = "Correct it or remove it") -> OhmError:
    where = f" at line {fault.line}, column {fault.column}" if fault.line else ""
    return OhmError(
        code=ErrorCode.CONFIG_INVALID,
        message=f"Cannot read the configuration {source}: {fault.problem}{where}.",
        advice=f"{remedy}; it may hold rules that deny, so nothing runs without it.",
    )
