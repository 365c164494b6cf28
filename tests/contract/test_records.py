"""The records of the package are made by a `dataclass` of its own: they are what the standard library's are."""

import dataclasses
import inspect
import pickle
import sys
from dataclasses import FrozenInstanceError, field, fields, replace
from functools import cached_property
from types import ModuleType
from typing import ClassVar

import pytest

from ohm_subagents import _records

OURS, STANDARD = ModuleType("ours"), ModuleType("standard")


def made_by(module, dataclass):
    """Define the same classes in a module, so that they can be pickled."""
    sys.modules[module.__name__] = module

    def define(options, body, name):
        body = dict(body, __module__=module.__name__, __qualname__=name)
        setattr(module, name, dataclass(frozen=True, **options)(type(name, (), body)))

    limits = {
        "requests": "int",
        "tokens": "int | None",
        "names": "list[str]",
        "token": "str",
        "cache": "dict[str, int]",
    }
    define(
        {"slots": True, "kw_only": True},
        {
            "__doc__": "Limits.",
            "__annotations__": {"KINDS": ClassVar[int], **limits},
            "KINDS": 3,
            "tokens": None,
            "names": field(default_factory=list, hash=False),
            "token": field(default="secret", repr=False),
            "cache": field(default_factory=dict, init=False, repr=False, compare=False),
        },
        "Limits",
    )
    define({"slots": True}, {"__annotations__": {"x": "int", "y": "int"}, "y": 2}, "Point")
    define(
        {"kw_only": True}, {"__annotations__": {"n": "int"}, "twice": cached_property(lambda self: 2 * self.n)}, "Open"
    )
    define({"slots": True}, {"__annotations__": {}}, "Empty")

    def check(self):
        if not self.size:
            message = "empty"
            raise ValueError(message)

    checked = {"__annotations__": {"size": "int"}, "__post_init__": check, "__repr__": lambda self: f"<{self.size}>"}
    define({"slots": True}, checked, "Checked")
    alike = {"__annotations__": {"id": "int", "text": "str"}, "__eq__": lambda a, b: a.id == b.id}
    define({"slots": True}, alike, "Alike")
    return module


BOTH = made_by(OURS, _records.dataclass), made_by(STANDARD, dataclasses.dataclass)


def same(look):
    """Return what both say; it has to be the same."""
    ours, standard = (look(module) for module in BOTH)
    assert ours == standard
    return ours


@pytest.mark.parametrize("name", ["Limits", "Point", "Open", "Empty", "Checked", "Alike"])
def test_a_record_has_the_fields_the_signature_and_the_pattern_of_a_dataclass(name):
    same(lambda module: [(one.name, one.type, one.default, one.kw_only) for one in fields(getattr(module, name))])
    same(lambda module: str(inspect.signature(getattr(module, name))))
    same(lambda module: getattr(module, name).__match_args__)
    same(lambda module: vars(getattr(module, name)).get("__slots__"))
    same(lambda module: repr(getattr(module, name).__dataclass_params__))


def test_records_are_shown_and_compared_by_the_fields_that_say_so():
    assert same(lambda m: repr(m.Limits(requests=1))) == "Limits(requests=1, tokens=None, names=[])"
    assert same(lambda m: repr(m.Checked(4))) == "<4>"
    assert same(lambda m: m.Limits(requests=1) == m.Limits(requests=1))
    assert not same(lambda m: m.Limits(requests=1) == m.Limits(requests=1, token="other"))
    assert not same(lambda m: m.Point(1) == (1, 2))
    assert same(lambda m: m.Alike(1, "a") == m.Alike(1, "b"))
    assert same(lambda m: len({m.Limits(requests=1), m.Limits(requests=1, names=["x"]), m.Point(1), m.Point(1)})) == 3
    assert same(lambda m: m.Empty() == m.Empty())


def test_a_record_never_changes_and_is_copied_with_a_difference():
    for module in BOTH:
        for record in (module.Limits(requests=1), module.Point(1), module.Open(n=1)):
            name = fields(record)[0].name
            with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
                setattr(record, name, 2)
            with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
                delattr(record, name)
    assert same(lambda m: dataclasses.astuple(replace(m.Limits(requests=1), tokens=5))) == (1, 5, [], "secret", {})
    assert same(lambda m: m.Open(n=4).twice) == 8


def test_a_record_is_pickled_and_every_one_has_lists_of_its_own():
    same(lambda m: dataclasses.astuple(pickle.loads(pickle.dumps(m.Limits(requests=1, names=["x"])))))
    assert same(lambda m: m.Limits(requests=1).names is m.Limits(requests=1).names) is False


def test_a_record_refuses_arguments_as_a_dataclass_does():
    for wrong in (lambda m: m.Limits(1), lambda m: m.Limits(), lambda m: m.Point(1, 2, 3), lambda m: m.Point(z=1)):
        said = set()
        for module in BOTH:
            with pytest.raises(TypeError) as refused:
                wrong(module)
            said.add(str(refused.value))
        assert len(said) == 1
    for module in BOTH:
        with pytest.raises(ValueError, match="empty"):
            module.Checked(0)


def test_a_dataclass_may_derive_from_a_record_and_a_record_from_a_dataclass():
    for module in BOTH:
        for dataclass in (_records.dataclass, dataclasses.dataclass):
            derived = dataclass(frozen=True)(type("Derived", (module.Point,), {"__annotations__": {"z": int}, "z": 3}))
            assert repr(derived(1)) == "Derived(x=1, y=2, z=3)"


def test_no_code_is_compiled_for_a_record_but_its_constructor():
    own = {name for name, one in vars(OURS.Limits).items() if getattr(one, "__module__", "") == "ours"}
    assert own == {"__init__"}
