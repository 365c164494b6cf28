"""The public API is a tested list.

After a wanted change run `PYTHONPATH=tests/support python tests/architecture/test_doors.py` and review the difference.
"""

import importlib
from pathlib import Path

import pytest
from public_doors import DOORS

SNAPSHOT = Path(__file__).with_name("doors.txt")

NAMES_OF_TWO_THINGS = {"Invocation"}
"""The call of a task, and at the door of command-line agents the start of one; this list only gets shorter."""


def listing() -> str:
    return "".join(f"{door}.{name}\n" for door in DOORS for name in sorted(importlib.import_module(door).__all__))


def test_the_doors_are_what_the_snapshot_lists() -> None:
    assert listing().splitlines() == SNAPSHOT.read_text().splitlines()


@pytest.mark.parametrize("door", DOORS)
def test_a_door_lists_real_public_objects_once(door: str) -> None:
    module = importlib.import_module(door)
    names: list[str] = module.__all__
    assert len(set(names)) == len(names)
    assert [name for name in names if name.startswith("_") or not hasattr(module, name)] == []


def test_a_name_at_two_doors_is_the_same_object() -> None:
    seen: dict[str, object] = {}
    for door in DOORS:
        module = importlib.import_module(door)
        for name in set(module.__all__) - NAMES_OF_TWO_THINGS:
            assert seen.setdefault(name, getattr(module, name)) is getattr(module, name), f"{door}.{name}"


if __name__ == "__main__":
    SNAPSHOT.write_text(listing())
