"""Names of a door that are imported on first use: who takes a name pays for it, when it is taken."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(door: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a module (PEP 562).

    `homes` maps modules of this package to the names that the door has from each, with spaces between.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in home_of:
            unknown = f"module {door!r} has no attribute {name!r}"
            raise AttributeError(unknown)
        found: object = getattr(import_module(f"{__package__}.{home_of[name]}"), name)
        vars(sys.modules[door])[name] = found
        return found

    def names() -> list[str]:
        return [*vars(sys.modules[door])["__all__"]]

    return load, names
