"""Whatever a public record, function or method names as a type, its reader can import from a door."""

import ast
import importlib
import inspect
import sys
import typing
from collections.abc import Iterator
from functools import cache

from public_doors import DOORS


def public() -> dict[str, object]:
    doors = (importlib.import_module(door) for door in DOORS)
    return {f"{door.__name__}.{name}": getattr(door, name) for door in doors for name in door.__all__}


PUBLIC = public()
IDS = {id(one) for one in PUBLIC.values()}


def hints_of(annotated: object) -> dict[str, object]:
    """Those of a record are there as they are; a method may name what is imported for types only."""
    if isinstance(annotated, type):
        return typing.get_type_hints(annotated)
    return typing.get_type_hints(annotated, localns=imported_for_types(annotated.__module__))


@cache
def imported_for_types(module: str) -> dict[str, object]:
    """The names of a module's `if TYPE_CHECKING:` block, which an annotation may use."""
    found: dict[str, object] = {}
    for block in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            exec(
                compile(ast.Module(body=block.body, type_ignores=[]), module, "exec"),
                {**vars(sys.modules[module])},
                found,
            )
    return found


def private_in(hint: object, seen: list[object]) -> Iterator[object]:
    """Every type of this project inside of a type that is at no door; JSON is a type inside of itself."""
    if id(hint) in IDS or any(hint is one for one in seen):
        return
    seen.append(hint)
    for part in (typing.get_origin(hint), *typing.get_args(hint)):
        for inner in part if isinstance(part, list) else [part]:
            yield from private_in(inner, seen)
    if isinstance(hint, type | typing.NewType) and hint.__module__.startswith("ohm_subagents"):
        yield hint


def annotated_of(thing: object) -> Iterator[object]:
    """The thing itself and its public methods."""
    yield thing
    for name, member in dict(vars(thing)).items() if isinstance(thing, type) else ():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if (
            inspect.isfunction(function)
            and function.__module__.startswith("ohm_subagents")
            and not name.startswith("_")
        ):
            yield inspect.unwrap(function)


def leaks_of(thing: object) -> set[str]:
    shown = (hints_of(one).items() for one in annotated_of(thing))
    named = (hint for hints in shown for key, hint in hints if not key.startswith("_"))
    return {repr(leak) for hint in named for leak in private_in(hint, [])}


def test_every_type_that_a_public_name_shows_is_public() -> None:
    things = {name: one for name, one in PUBLIC.items() if inspect.isfunction(one) or isinstance(one, type)}
    leaks = {name: leaks_of(one) for name, one in things.items()}
    assert {name: found for name, found in leaks.items() if found} == {}
