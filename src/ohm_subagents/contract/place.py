"""The place of an `Ohm`: directories, environment, the user's trust, and the levels of subagents above."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from ohm_subagents._records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """The levels of subagents above a process, as its environment says."""

    depth: int | None = 0
    """The number of subagents that the process is inside of; None if the environment has no readable number."""
    max_depth: int | None = None
    """The most levels; None if the environment does not limit them."""
    is_child: bool = False
    """The process itself was started for a subagent."""


def _trust_nothing(_path: Path, _text: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place that suites and checks work in."""

    cwd: Path = field(default_factory=Path.cwd)
    """The working directory of the `Ohm`: the user's project."""
    home: Path = field(default_factory=Path.home)
    """The user's home directory, for paths that begin with `~`."""
    agent_dir: Path = field(default_factory=lambda: Path.home() / ".pi" / "agent")
    """The coding agent's own directory: settings, agents and skills of the user."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The environment that the `Ohm` was opened with; it may hold keys."""
    nesting: Nesting = field(default_factory=Nesting)
    """The subagents that the process is inside of."""
    kept_in: Path | None = None
    """The directory of kept tasks, which other processes may share; None if tasks end with the process."""
    trusts: Callable[[Path, str], bool] = field(default=_trust_nothing, repr=False)
    """Return True if the user trusts this file of a project with this text in it."""
