"""The files that a task begins with, and the work that it does to them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.workspaces.view import View

REFS: Final = "refs/ohm/"
BASE: Final = ".base"
"""After the name of a task, in which there is no dot."""
LANDED: Final = ".landed"
"""After the name of a task: the commit of it whose changes the parent has."""
_KINDS: Final = (LANDED, BASE, "")
_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The files that a run begins with."""

    task: str
    """The id of its task."""
    directory: Path
    """The directory of its task."""
    within: str
    """The same directory, below that of the repository; empty for the repository's own."""
    commit: str
    """The commit that has them: of a task that has changed some before, what it did."""

    @property
    def top(self) -> Path:
        """The directory of the repository."""
        real = self.directory.resolve()
        return real.parents[len(Path(self.within).parts) - 1] if self.within else real


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The changes that a task has made, in all of its runs."""

    base: str
    """The commit that it began with; empty if that is not known any more."""
    ref: str
    """The reference that keeps them, on top of the base."""
    files: int
    """The number of files that differ."""
    insertions: int
    """The number of lines that were added to them."""
    deletions: int
    """The number of lines that were removed from them."""
    has_landed: bool = False
    """The files of the parent have all of it."""


def ref_of(task: str) -> str:
    """Return the name of the reference that keeps what a task did."""
    name = quote(task, safe="").replace(".", "%2E").replace("~", "%7E")
    return REFS + (name if len(name) <= _MAX_NAME else sha256(task.encode()).hexdigest())


async def work_of(view: View, task: str) -> Work | None:
    """Count what a task has changed; None if nothing is kept of it. A file that is not text has no lines."""
    ref = ref_of(task)
    commit = await view.commit(ref)
    if commit is None:
        return None
    base = await view.commit(ref + BASE)
    told = await view.run("diff-tree", "-r", "--numstat", "-z", base, ref) if base is not None else None
    counts = [line.split(b"\t")[:2] for line in told.stdout.split(b"\0") if line] if told is not None else []
    added, removed = (sum(int(one[side]) for one in counts if one[side] != b"-") for side in (0, 1))
    has_landed = commit == await view.commit(ref + LANDED)
    return Work(base=base or "", ref=ref, files=len(counts), insertions=added, deletions=removed, has_landed=has_landed)


async def forget_landed(view: View, is_gone: Callable[[str], bool]) -> None:
    """Remove what is kept of tasks that are gone, where all of it has landed; other work stays."""
    told = await view.run("for-each-ref", "--format=%(refname) %(objectname)", REFS)
    refs = dict(line.split(" ") for line in os.fsdecode(told.stdout).splitlines())
    names = [ref for ref, commit in refs.items() if refs.get(ref + LANDED) == commit]
    gone = [ref for ref in names if is_gone(unquote(ref.removeprefix(REFS)))]
    lines = [f"delete {ref}{kind} {refs[ref + kind]}\n" for ref in gone for kind in _KINDS if ref + kind in refs]
    if lines:
        await view.ended("update-ref", "--no-deref", "--stdin", stdin=os.fsencode("".join(lines)))


async def take_over(view: View, task: str, former: str) -> str | None:
    """Let a task go on with the work of the one that it continues, and return the commit.

    None if that has none, or none that has not landed: then the files have it.
    """
    mine, its = ref_of(task), ref_of(former)
    commits = {kind: await view.commit(its + kind) for kind in (BASE, LANDED, "")}
    if commits[""] in (None, commits[LANDED]) or commits[BASE] is None:
        return None
    lines = "".join(f"update {mine}{kind} {commit}\n" for kind, commit in commits.items() if commit is not None)
    await view.run("update-ref", "--no-deref", "--stdin", stdin=os.fsencode(lines))
    return commits[""]
