"""A program that does a part of a work: `python -I -S part.py <file of a module> <function> <process>`.

It reads what the function gets, and writes what it returns, as JSON. It ends with the process that started it, whose
unfinished directories somebody else removes then.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class _While(list[Any]):
    """A list that ends the program once its owner has died."""

    owner = 0

    def __iter__(self) -> Iterator[Any]:
        for one in super().__iter__():
            if os.getppid() != self.owner:
                sys.exit(1)
            yield one


def main(module: str, function: str, owner: str) -> None:
    """Do it."""
    work = runpy.run_path(module)[function]
    one, other, given = json.load(sys.stdin)
    part = _While(given)
    part.owner = int(owner)
    json.dump(work(one, other, part), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
