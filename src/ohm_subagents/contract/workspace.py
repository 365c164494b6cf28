"""The work of a subagent on files of its own: kept apart from those of its parent until somebody takes it."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from ohm_subagents._records import dataclass

Isolation = Literal["none", "clone"]
"""The files of a task: those of its directory, or a clone of them that nobody else works in."""
ISOLATIONS: Final[tuple[Isolation, ...]] = ("clone", "none")
"""All of them, the strictest first."""
Land = Literal["never", "ask", "clean"]
"""The end of a run that succeeded, from the strictest on: what it did there stays apart, lands where it fits once
somebody has agreed, or lands where it fits."""
Landed = Literal["no", "clean", "conflict", "discarded"]
_TOLD: Final = 20
"""At most so many conflicts are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloning:
    """The demand for a clone of the files of a task."""

    includes: tuple[str, ...] = ()
    """Patterns of ignored files that are in it all the same."""


def strictest_isolation(*said: Isolation | None) -> Isolation:
    """Return the isolation that leaves the files alone most; `none` where nothing is said."""
    given: list[Isolation] = [one for one in ISOLATIONS if one in said]
    return given[0] if given else "none"


def strictest_landing(*said: Land | None) -> Land:
    """Return the landing that leaves the files alone most; `never` where nothing is said."""
    if "never" in said:
        return "never"
    return "ask" if "ask" in said else "clean" if "clean" in said else "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOverrides:
    """The choices of one call on the files of its task; None leaves one to its profile and to the configuration."""

    isolation: Isolation | None = None
    """A clone of the files; `none` does not lift what the profile or the configuration demands."""
    land: Land | None = None
    """The landing of its work; `clean` does not lift what the profile or the configuration forbids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines of a file that a task and its parent have changed in different ways."""

    first: int
    """The first of these lines in the file of the parent, from 1 on."""
    last: int
    """The last of them; less than `first` where the parent has none."""
    ours: str
    """The lines of the parent, cut where they are long."""
    theirs: str
    """The lines of the task, cut where they are long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A file whose changes by a task cannot be made to the files of the parent."""

    path: str
    """The file, from the top of the repository."""
    reason: str
    """The reason, for people."""
    hunks: tuple[Hunk, ...] = ()
    """The lines in which they meet, the first ones of many; empty where lines are not the reason."""

    def __str__(self) -> str:
        """Return one line for people."""
        lines = [f"{one.first}-{one.last}" if one.last > one.first else f"{one.first}" for one in self.hunks]
        where = f" line{'s' if lines[1:] or '-' in lines[0] else ''} {', '.join(lines)}" if lines else ""
        return f"{self.path}{where}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """The end of an attempt to make the changes of a task to the files of its parent: all of them, or none."""

    ref: str
    """The reference that keeps the changes."""
    files: tuple[str, ...] = ()
    """The files of the parent that were changed, from the top of the repository."""
    conflicts: tuple[Conflict, ...] = ()
    """The reasons why nothing was changed; empty where the changes are made."""

    @property
    def landed(self) -> Landed:
        """`clean` where the changes are made, else `conflict`."""
        return "conflict" if self.conflicts else "clean"

    @property
    def reasons(self) -> tuple[str, ...]:
        """One line for each conflict; of many, the first ones."""
        more = len(self.conflicts) - _TOLD
        return (*map(str, self.conflicts[:_TOLD]), *([f"{more} more"] if more > 0 else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceKept:
    """The files that the task has changed in a workspace of its own, in all runs so far, are kept, or have landed.

    It may come after `TaskSettled`: who lands or discards them need not run the task.
    """

    TEXTS: ClassVar[tuple[str, ...]] = ()
    base: str
    """The id of the commit that the task began with."""
    ref: str
    """The reference in the repository of the working directory that keeps them, on top of the base."""
    files: int
    """The number of files that differ."""
    insertions: int
    """The number of lines that were added."""
    deletions: int
    """The number of lines that were removed."""
    landed: Landed = "no"
    """`clean` once they are in the files of the parent too; `conflict` where that was tried in vain; `discarded` where
    nothing is kept of them any more."""
    conflicts: tuple[str, ...] = ()
    """The reasons of a `conflict`, one line a file, the first ones of many."""
    kind: Literal["workspace_kept"] = "workspace_kept"
