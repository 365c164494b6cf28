"""Start a module of this package in an interpreter of its own, within limits of memory and time."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._interpreters import limited
from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import CompletedProcess

_SCRIPT: Final = Path(limited.__file__)
_SOURCES: Final = f"{Path(__file__).parents[2]}"
_PYTHON: Final = re.compile(r"(python|pypy)[\w.-]*")
_OF_THE_LOADER: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """The limits of a process."""

    memory: int
    """Bytes of memory."""
    seconds: int
    """Seconds of the processor, and on the clock."""


def has_interpreter() -> bool:
    """Tell whether a script can be run: a frozen program, or one that has Python inside, is no interpreter."""
    return bool(_PYTHON.fullmatch(Path(sys.executable or "").name)) and not getattr(sys, "frozen", False)


def loader_environment() -> dict[str, str]:
    """Return the variables of our environment that an interpreter with a shared library may need to start."""
    environ = os.environ  # noqa: TID251  for the system's loader, and no setting of ours
    return {name: environ[name] for name in _OF_THE_LOADER if name in environ}


def limit_process(pid: int, limits: ProcessLimits) -> None:
    """Limit a process that has begun already, where the system can (Linux); the clock is the caller's."""
    if sys.platform == "linux":
        limited.limit(limits.memory, limits.seconds, pid)


async def run_apart(
    module: str, said: bytes, limits: ProcessLimits, *, paths: Sequence[str] = ()
) -> CompletedProcess[bytes]:
    """Run the `main` of a module, which reads `said`; cancelling ends it. An `OSError` where no process starts.

    The module finds the standard library, this package, and what is in `paths`: nothing of a working directory.
    """
    script = [f"{_SCRIPT}", f"{limits.memory}", f"{limits.seconds}", module, _SOURCES, *paths]
    command = [sys.executable, "-I", "-S", "-W", "ignore", *script]
    trouble = ""
    try:
        return await anyio.run_process(command, input=said, check=False, env=loader_environment())
    except* (OSError, anyio.BrokenResourceError) as errors:  # it does not start, or ends before it has read
        trouble = "; ".join(str(error) or type(error).__name__ for error in errors.exceptions)
    raise OSError(trouble)


def installed() -> tuple[str, ...]:
    """Return the directories that this process imports from, but never its working directory."""
    return tuple(path for path in sys.path if path.startswith("/") and path != f"{Path.cwd()}")
