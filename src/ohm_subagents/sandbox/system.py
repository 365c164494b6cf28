"""The files of the system that every program may read, and those of them that it may not."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOPS: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu")
"""The system; a symbolic link among them stays one."""
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_RESOLVER: Final = "/etc/resolv.conf"
_DEPTH: Final = 4


@cache
def hidden() -> tuple[str, ...]:
    """Return what is below /etc and not for everybody's eyes, as passwords and private keys; read once."""
    return tuple(_private("/etc", _DEPTH))


def _private(top: str, depth: int) -> Iterator[str]:
    try:
        entries = [*os.scandir(top)]
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue
        is_directory = entry.is_dir(follow_symlinks=False)
        for_all = 0o005 if is_directory else 0o004
        if entry.stat(follow_symlinks=False).st_mode & for_all != for_all:
            yield entry.path
        elif is_directory and depth:
            yield from _private(entry.path, depth - 1)


def visible(top: str) -> Iterator[str]:
    """Yield the paths that together are all of `top` but what is hidden."""
    if top in hidden():
        return
    if not any(Path(one).is_relative_to(top) for one in hidden()) or not os.path.isdir(top):
        yield top
        return
    for entry in os.scandir(top):
        yield from visible(entry.path)


def programs(env: Mapping[str, str]) -> Iterator[str]:
    """Yield the directories of PATH, with the versions behind `shims`, and those of the interpreter that runs us."""
    for folder in env.get("PATH", "").split(os.pathsep):
        if folder.startswith("/"):
            yield os.path.dirname(folder) if os.path.basename(folder) == "shims" else folder  # noqa: PTH119, PTH120  these are texts of PATH
    yield from (sys.prefix, sys.base_prefix)


def installation(program: str) -> Iterator[str]:
    """Yield what a program outside of the system needs beside itself: its package, and what its link points at.

    A program of npm is a file in `node_modules` or in a package, one of a virtual environment lies below `pyvenv.cfg`.
    """
    for path in dict.fromkeys((program, os.path.realpath(program))):
        file = Path(path)
        packages = [parent for parent in file.parents if parent.name == "node_modules"]
        if packages:
            yield f"{packages[-1]}"
        elif os.path.isfile(file.parent.parent / "pyvenv.cfg"):
            yield f"{file.parent.parent}"
        else:
            yield next((f"{parent}" for parent in file.parents if os.path.isfile(parent / "package.json")), path)


def resolver() -> Iterator[str]:
    """Yield the file that names the servers of names, where it is none of /etc itself."""
    real = os.path.realpath(_RESOLVER)
    if real != _RESOLVER and os.path.isfile(real):
        yield real
