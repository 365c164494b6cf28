"""The units of a file: Python's functions, classes and constants; windows of lines of any other text."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

_WINDOW_LINES: Final = 60
_SUMMARY_CHARS: Final = 160
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_BODIES: Final = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True, slots=True)
class Unit:
    """A place worth naming in an answer: lines `start` to `end`, counted from 1. `name` is empty for a window."""

    kind: str
    name: str
    scope: str
    summary: str
    start: int
    end: int

    @property
    def title(self) -> str:
        """`kind name — summary`, as far as there is one."""
        label = " ".join(part for part in (self.kind, f"{self.scope}.{self.name}" if self.scope else self.name) if part)
        return f"{label} — {self.summary}" if self.summary else label


@dataclass(frozen=True, slots=True)
class Source:
    """A unit with its words: the docstring, and the body without it and without what units inside it hold."""

    unit: Unit
    docstring: str
    body: str


def lines(text: str) -> list[str]:
    """Return the lines of a file as Python's parser counts them: a form feed or U+2028 ends none."""
    *whole, last = _LINE_END.split(text)
    return [*whole, last] if last else whole


def sources(path: str, text: str) -> list[Source]:
    """Return the units of a file; Python that does not parse is cut into windows like any other text."""
    rows = lines(text)
    if path.endswith((".py", ".pyi")):
        try:
            return list(_python(path, ast.parse(text), rows))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    return list(_windows(rows))


def _windows(rows: Sequence[str]) -> Iterator[Source]:
    for first in range(0, len(rows), _WINDOW_LINES):
        window = rows[first : first + _WINDOW_LINES]
        heading = next((line for line in window if line.strip()), "")
        unit = Unit("text", "", "", _summary(heading), first + 1, first + len(window))
        yield Source(unit, "", "\n".join(window))


def _python(path: str, module: ast.Module, rows: list[str]) -> Iterator[Source]:
    rest = _Rest(rows)
    for node in _statements(module):
        if _names_only(node):
            rest.take(node.lineno, node.end_lineno or node.lineno)
    inner = list(_definitions(module.body, "", rest))
    docstring = ast.get_docstring(module) or ""
    rest.take_docstring(module)
    if docstring or rest.text(1, len(rows)).strip():
        last = min((source.unit.start for source in inner), default=len(rows) + 1) - 1
        unit = Unit("module", _module_name(path), "", _summary(docstring), 1, max(last, 1))
        yield Source(unit, docstring, rest.text(1, len(rows)))
    yield from inner


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements below a node, in no order; expressions, most of a tree, hold none."""
    left = [node]
    while left:
        node = left.pop()
        inner = [each for field in _BODIES for each in getattr(node, field, ())]
        yield from inner
        left += inner


def _names_only(node: ast.AST) -> TypeGuard[ast.stmt]:
    """Return True if this only names what is done elsewhere: an import, `__all__`, an overload."""
    match node:
        case ast.FunctionDef(decorator_list=marks) | ast.AsyncFunctionDef(decorator_list=marks):
            return any("overload" in (getattr(mark, "id", ""), getattr(mark, "attr", "")) for mark in marks)
        case ast.Import() | ast.ImportFrom() | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case _:
            return False


def _module_name(path: str) -> str:
    *packages, file = path.split("/")
    name = file.rpartition(".")[0]
    return packages[-1] if name == "__init__" and packages else name


class _Rest:
    """The lines of a file that no unit has taken yet; a unit takes its own after the units inside it did."""

    def __init__(self, lines: list[str]) -> None:
        self._lines: list[str | None] = list(lines)

    def take_docstring(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        first = node.body[0] if node.body else None
        if ast.get_docstring(node, clean=False) is not None and first is not None:
            self.take(first.lineno, first.end_lineno or first.lineno)

    def text(self, start: int, end: int) -> str:
        return "\n".join(line for line in self._lines[start - 1 : end] if line is not None)

    def take(self, start: int, end: int) -> str:
        text = self.text(start, end)
        self._lines[start - 1 : end] = [None] * (end - start + 1)
        return text


def _definitions(body: Sequence[ast.stmt], scope: str, rest: _Rest) -> Iterator[Source]:
    for node in body:
        match node:
            case _ if _names_only(node):
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield _definition("method" if scope else "function", node, scope, rest)
            case ast.ClassDef():
                inner = list(_definitions(node.body, f"{scope}.{node.name}" if scope else node.name, rest))
                yield _definition("class", node, scope, rest)
                yield from inner
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if not scope:
                end = node.end_lineno or node.lineno
                yield Source(Unit("constant", name, "", "", node.lineno, end), "", rest.take(node.lineno, end))
            case ast.If() | ast.Try() | ast.With():
                for part in _blocks(node):
                    yield from _definitions(part, scope, rest)
            case _:
                pass


def _blocks(node: ast.If | ast.Try | ast.With) -> Iterator[list[ast.stmt]]:
    yield node.body
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            yield handler.body
        yield node.finalbody
    if not isinstance(node, ast.With):
        yield node.orelse


def _definition(
    kind: str, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: str, rest: _Rest
) -> Source:
    docstring = ast.get_docstring(node) or ""
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    end = node.end_lineno or node.lineno
    rest.take_docstring(node)
    return Source(Unit(kind, node.name, scope, _summary(docstring), start, end), docstring, rest.take(start, end))


def _summary(text: str) -> str:
    first = text.strip().partition("\n")[0].strip()
    return first if len(first) <= _SUMMARY_CHARS else f"{first[: _SUMMARY_CHARS - 1]}…"
