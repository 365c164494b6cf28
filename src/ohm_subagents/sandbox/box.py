"""A box: the sandbox of one run, which makes of a command one that is held."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final, Self

from ohm_subagents._records import dataclass
from ohm_subagents.contract.sandbox import Mechanism, SandboxRules
from ohm_subagents.sandbox.system import DEVICES, TOPS, installation, programs, resolver, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SCRIPT: Final = Path(__file__).with_name("confinement.py")
_LISTENING: Final = Path(__file__).with_name("listening.py")
_PORT: Final = 18080
"""The port of the proxy: each command has all ports of a network of its own."""
_VARIABLES: Final = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), f"http://127.0.0.1:{_PORT}"),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), ""),
    "NODE_USE_ENV_PROXY": "1",
}
"""By these, programs find a proxy; node does not look at them unless it is told to."""
_MIB: Final = 1024 * 1024
_WRAPPERS: Final[Mapping[Mechanism, int]] = {"bubblewrap": 2, "landlock": 0}


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A command that is held, as it is to be started."""

    command: tuple[str, ...]
    """The program and its arguments."""
    env: Mapping[str, str]
    """The whole environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The reach of what a run starts: the system to read, a private home and /tmp, the workspace to change."""

    mechanism: Mechanism
    """The mechanism that holds it."""
    workspace: Path
    """The directory that it may change."""
    home: Path
    """The home of the user, in whose place there is an empty one."""
    program: str = ""
    """The program of bubblewrap."""
    can_copy: bool = False
    """A directory can be changed without effect for others; else it is only read."""
    rules: SandboxRules = field(default=SandboxRules())
    """The limits, and what the configuration adds."""
    reads: tuple[str, ...] = ()
    """Files and directories that it needs to read, beside those of the rules."""
    writes: tuple[str, ...] = ()
    """Files and directories that it needs to change."""
    copies: tuple[str, ...] = ()
    """Directories that it reads, and may change for itself alone."""
    programs: tuple[str, ...] = ()
    """Programs that it needs as they are installed, beside the one that is started."""
    has_network: bool = False
    """It may use the network, whatever the rules say."""
    proxy: str = ""
    """The socket of a `Proxy` by which it reaches some servers; empty for none."""

    def with_needs(
        self,
        *,
        reads: Iterable[str | Path] = (),
        writes: Iterable[str | Path] = (),
        copies: Iterable[str | Path] = (),
        programs: Iterable[str] = (),
        network: bool = False,
    ) -> Self:
        """Return the box of a program that needs more than a command: its own files, or the network."""
        return replace(
            self,
            reads=(*self.reads, *map(str, reads), *(() if self.can_copy else map(str, copies))),
            writes=(*self.writes, *map(str, writes)),
            copies=(*self.copies, *(map(str, copies) if self.can_copy else ())),
            programs=(*self.programs, *programs),
            has_network=self.has_network or network,
        )

    @property
    def wrappers(self) -> int:
        """The number of processes between the one that is started and the command."""
        return _WRAPPERS[self.mechanism]

    def around(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], folder: Path, dies_with_us: bool = True
    ) -> Enclosed:
        """Return the command in the box. `folder` is a private directory, in which Landlock's home is made.

        `dies_with_us`: the kernel ends it with the thread that starts it.
        """
        inner, own = tuple(command), dict(env)
        reads, writes = self._reads(inner[0], env), self._writes()
        own.pop("XDG_RUNTIME_DIR", None)
        landlock: Mapping[str, object] | None = None
        if self.mechanism == "bubblewrap":
            from ohm_subagents.sandbox.bubblewrap import Reach, bubblewrapped  # noqa: PLC0415  most programs have no box

            homes = tuple(dict.fromkeys((f"{self.home}", env.get("HOME") or f"{self.home}")))
            reach = Reach(homes, reads, self.copies, writes, self.is_online)
            own = {name: value for name, value in own.items() if name != "TMPDIR"}
            if self.proxy and not self.is_online:
                own |= _VARIABLES
                inner = (sys.executable, "-I", "-S", f"{_LISTENING}", self.proxy, f"{_PORT}", *inner)
            inner = bubblewrapped(self.program, inner, reach, cwd=cwd, dies_with_us=dies_with_us)
        else:
            private = mkdtemp(prefix="home-", dir=folder)
            own |= {"HOME": private, "TMPDIR": private}
            landlock = {
                "read": [*reads, "/proc"],
                "write": [*writes, private],
                "devices": DEVICES,
                "network": self.is_online,
            }
        policy = json.dumps({"limits": self._limits(), "landlock": landlock})
        return Enclosed((sys.executable, "-I", "-S", f"{_SCRIPT}", policy, *inner), own)

    @property
    def is_online(self) -> bool:
        """It may use the whole network."""
        return self.has_network or self.rules.network == "on"

    def _reads(self, program: str, env: Mapping[str, str]) -> tuple[str, ...]:
        tops = (path for top in TOPS for path in (visible(top) if self.mechanism == "landlock" else (top,)))
        needed = (path for one in (program, *self.programs) for path in installation(one))
        found = (path for path in (*programs(env), *needed) if not self.home.is_relative_to(path))
        asked = (*self._expanded(self.rules.read), *self.reads, *self.copies, *self._for_network())
        writable = self._writes()
        known = (*TOPS, *writable)
        own = (path for path in (*found, *asked) if not any(Path(path).is_relative_to(one) for one in known))
        return tuple(path for path in dict.fromkeys((*tops, *own)) if os.path.exists(path))

    def _for_network(self) -> tuple[str, ...]:
        if self.is_online:
            return (*resolver(),)
        return (self.proxy, f"{_LISTENING}") if self.proxy else ()

    def _writes(self) -> tuple[str, ...]:
        here = (f"{self.workspace}", os.path.realpath(self.workspace))
        return tuple(dict.fromkeys((*here, *self._expanded(self.rules.write), *self.writes)))

    def _expanded(self, paths: Iterable[str]) -> Iterable[str]:
        for path in paths:
            is_home = path == "~" or path.startswith("~/")
            yield f"{self.home / path[2:]}" if is_home else os.path.join(self.workspace, path)  # noqa: PTH118  as it is written

    def _limits(self) -> dict[str, int]:
        rules = self.rules
        return {
            name: value
            for name, value in (
                ("RLIMIT_CORE", 0),
                ("RLIMIT_NPROC", rules.processes),
                ("RLIMIT_DATA", rules.memory_mb and rules.memory_mb * _MIB),
                ("RLIMIT_CPU", rules.cpu_s),
                ("RLIMIT_FSIZE", rules.file_mb and rules.file_mb * _MIB),
            )
            if value is not None
        }
