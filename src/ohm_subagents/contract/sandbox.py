"""The sandbox of a task: how strictly the programs that it runs are held to its workspace, and what they may reach."""

from __future__ import annotations

from typing import Final, Literal

from ohm_subagents._records import dataclass

SandboxMode = Literal["required", "preferred", "off"]
"""`required` refuses to run without a sandbox, `preferred` runs without one where there is none and says so."""
Mechanism = Literal["bubblewrap", "landlock"]
"""The means that hold a program."""
Network = Literal["off", "on"] | tuple[str, ...]
"""The network as a whole, or some of its servers, each `host:port`; `*.host:port` is every name below a host."""
SANDBOX_MODES: Final[tuple[SandboxMode, ...]] = ("required", "preferred", "off")
"""All modes, the strictest first."""


def strictest(*modes: SandboxMode | None) -> SandboxMode:
    """Return the strictest of these modes; None says nothing."""
    given: list[SandboxMode] = [one for one in SANDBOX_MODES if one in modes]
    return given[0] if given else "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRules:
    """The reach of a program in a sandbox, beside the system, which it may read, and the workspace."""

    network: Network = "off"
    """The network for the commands of `bash`; agents have all of it in any case."""
    read: tuple[str, ...] = ()
    """Files and directories that it may read besides."""
    write: tuple[str, ...] = ()
    """Files and directories that it may change besides."""
    processes: int | None = None
    """The most processes of the user at once; without effect for root."""
    memory_mb: int | None = None
    """The most memory of each process, in MiB."""
    cpu_s: int | None = None
    """The most seconds of the processor of each process."""
    file_mb: int | None = None
    """The largest file that it may write, in MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The sandbox that a task asks for."""

    mode: SandboxMode = "off"
    """The demand for one."""
    rules: SandboxRules = SandboxRules()
    """The reach of what runs in it."""


NO_SANDBOX: Final = Sandbox()
