"""Each field of a public record says what it means: a docstring below it, its `description`, or a line of `Fields:`."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest
from public_doors import DOORS


@cache
def body_of(record: type) -> list[ast.stmt]:
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(declared, ast.ClassDef)
    return declared.body


def is_text(statement: ast.stmt | None) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def undocumented(record: type) -> Iterator[str]:
    """The names of fields that nothing is said of; those of a base count where it is declared."""
    listed = {
        name for names in re.findall(r"^\s+([\w, ]+): ", record.__doc__ or "", re.M) for name in names.split(", ")
    }
    for field, below in pairwise([*body_of(record), None]):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        name, type_of = field.target.id, ast.unparse(field.annotation)
        is_described = field.value is not None and "description=" in ast.unparse(field.value)
        is_tag = name == "kind" or type_of.startswith("ClassVar") or name.startswith("_")
        if not (is_tag or is_text(below) or is_described or "description=" in type_of or name in listed):
            yield f"{record.__name__}.{name}"


@pytest.mark.slow
def test_every_field_of_a_public_record_is_documented() -> None:
    doors = [importlib.import_module(door) for door in DOORS]
    public = [getattr(door, name) for door in doors for name in door.__all__]
    records = {base for one in public if isinstance(one, type) for base in one.__mro__}
    ours = {record for record in records if record.__module__.startswith("ohm_subagents")}
    assert sorted({name for record in ours for name in undocumented(record)}) == []
