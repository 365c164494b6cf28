"""`dataclass` as the standard library has it, whose frozen classes are made with a quarter of the work.

The standard library compiles seven functions for each of them, of which `__init__` alone depends on more than the names
of the fields. A start makes more than 200 records: that was a third of what `ohm run` did before its answer.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from dataclasses import Field, dataclass

    from _typeshed import DataclassInstance

__all__ = ["dataclass"]

_MADE_HERE: Final = frozenset(
    ("__init__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__")
)


class _Factory:
    """The default of a parameter whose field has a factory."""

    def __repr__(self) -> str:
        return "<factory>"


def _dataclass(*, frozen: bool = False, **options: bool) -> Callable[[type[Any]], type[Any]]:
    """Return the decorator. The standard library makes what is not plainly frozen, or derived, or has such methods."""

    def make(of: type[Any]) -> type[Any]:
        plain = frozen and options.keys() <= {"slots", "kw_only"} and not _MADE_HERE & vars(of).keys()
        if not plain or any(dataclasses.is_dataclass(base) for base in of.__mro__[1:]):
            made: type[Any] = dataclasses.dataclass(frozen=frozen, **options)(of)
            return made
        of.__doc__ = of.__doc__ or of.__name__  # instead of a signature, which would have to be found out
        made = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(of)
        for name, method in _methods(made, fields(made)).items():
            setattr(made, name, method)
        for option in ("init", "repr", "eq", "frozen"):
            setattr(made.__dataclass_params__, option, True)
        return made

    return make


if not TYPE_CHECKING:
    dataclass = _dataclass


def _methods(made: type, members: tuple[Field[Any], ...]) -> Mapping[str, Callable[..., object]]:
    return {
        "__init__": _init(made, members),
        "__eq__": _equality(one.name for one in members if one.compare),
        "__hash__": _hashing(one.name for one in members if (one.compare if one.hash is None else one.hash)),
        "__repr__": vars(made).get("__repr__", _shown),
        "__setattr__": _refuse_to_assign,
        "__delattr__": _refuse_to_delete,
    } | ({"__getstate__": _state, "__setstate__": _restore} if "__slots__" in vars(made) else {})


def _init(made: type, members: tuple[Field[Any], ...]) -> Callable[..., None]:
    scope: dict[str, Any] = {"_set": object.__setattr__, "_FACTORY": _Factory()}
    positional, by_name, body = ["self"], list[str](), list[str]()
    for one in members:
        name = value = one.name
        parameter = name
        if one.default_factory is not MISSING:
            scope[f"_new_{name}"] = one.default_factory
            value = f"_new_{name}()" + (f" if {name} is _FACTORY else {name}" if one.init else "")
            parameter = f"{name}=_FACTORY"
        elif one.default is not MISSING:
            scope[f"_default_{name}"] = one.default
            value = name if one.init else f"_default_{name}"
            parameter = f"{name}=_default_{name}"
        elif not one.init:
            continue
        slot = vars(made).get(name)
        if isinstance(slot, MemberDescriptorType):  # to look for it by its name takes twice as long
            scope[f"_set_{name}"] = slot.__set__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"_set(self, {name!r}, {value})")
        if one.init:
            (by_name if one.kw_only else positional).append(parameter)
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({parameters}):\n " + ("; ".join(body) or "pass"), scope)  # noqa: S102  names of fields
    init: Callable[..., None] = scope["__init__"]
    init.__annotations__ = {one.name: one.type for one in members if one.init} | {"return": None}
    init.__module__, init.__qualname__ = made.__module__, f"{made.__qualname__}.__init__"
    return init


def _equality(names: Iterable[str]) -> Callable[[object, object], bool]:
    compared = attrgetter("__class__", *names)

    def __eq__(self: object, other: object) -> bool:  # noqa: N807  of the class
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashing(names: Iterable[str]) -> Callable[[object], int]:
    compared = attrgetter("__class__", *names)
    return lambda self: hash(compared(self))


@recursive_repr("...")
def _shown(self: DataclassInstance) -> str:
    values = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(values)})"


def _refuse_to_assign(_: object, name: str, __: object) -> NoReturn:
    message = f"cannot assign to field {name!r}"
    raise FrozenInstanceError(message)


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    message = f"cannot delete field {name!r}"
    raise FrozenInstanceError(message)


def _state(self: DataclassInstance) -> list[object]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: DataclassInstance, state: list[object]) -> None:
    for one, value in zip(fields(self), state, strict=False):
        object.__setattr__(self, one.name, value)
