"""The files that a task begins with, and the work that it does to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, unquote

from ohm_subagents._records import dataclass
from ohm_subagents.contract.workspace import WorkspaceKept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents.workspaces.view import View

REFS: Final = "refs/ohm/"
BASE: Final = ".base"
"""After the name of a task, in which there is no dot."""
LANDED: Final = ".landed"
"""After the name of a task: the commit of it whose changes the parent has."""
_KINDS: Final = (LANDED, BASE, "")
_FORMAT: Final = "--format=%(refname) %(objectname)"
_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """Everything of a repository that a task in a clone of it must not change."""

    head: str
    """The branch, or the commit, that is checked out."""
    refs: Mapping[str, str]
    """Its references and their objects."""
    kept: Mapping[str, str]
    """The references of tasks, and their objects."""
    index: str
    """The SHA-256 of the entries of its index."""
    tree: str
    """The id of the tree of its files."""


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
    parent: Parent | None = None
    """The parent as it was then; None where another process has begun."""

    @property
    def top(self) -> Path:
        """The directory of the repository."""
        real = self.directory.resolve()
        return real.parents[len(Path(self.within).parts) - 1] if self.within else real


class Kept(NamedTuple):
    """The commits that are kept of a task; None for none."""

    work: str | None
    base: str | None
    landed: str | None


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

    @property
    def event(self) -> WorkspaceKept:
        """The event that tells of it in the record of its task."""
        return WorkspaceKept(
            base=self.base,
            ref=self.ref,
            files=self.files,
            insertions=self.insertions,
            deletions=self.deletions,
            landed="clean" if self.has_landed else "no",
        )


def ref_of(task: str) -> str:
    """Return the name of the reference that keeps what a task did."""
    name = quote(task, safe="").replace(".", "%2E").replace("~", "%7E")
    return REFS + (name if len(name) <= _MAX_NAME else sha256(task.encode()).hexdigest())


async def refs_below(view: View, *names: str) -> dict[str, str]:
    """Return these references, and those below them, with their objects; all without a name."""
    told = (await view.run("for-each-ref", _FORMAT, *names)).stdout.decode("utf-8", "surrogateescape")
    return {name: to for name, _, to in (line.partition(" ") for line in told.splitlines())}


async def kept_of(view: View, task: str) -> Kept:
    """Return the commits that are kept of a task."""
    ref = ref_of(task)
    refs = await refs_below(view, *(ref + kind for kind in _KINDS))
    return Kept(work=refs.get(ref), base=refs.get(ref + BASE), landed=refs.get(ref + LANDED))


async def forget_all(view: View, task: str) -> None:
    """Remove all that is kept of a task."""
    await view.run("update-ref", "--no-deref", "--stdin", stdin=_lines(f"delete {ref_of(task)}{one}" for one in _KINDS))


async def work_of(view: View, task: str) -> Work | None:
    """Count what a task has changed; None if nothing is kept of it. A file that is not text has no lines."""
    ref = ref_of(task)
    commit, base, landed = await kept_of(view, task)
    if commit is None:
        return None
    told = await view.run("diff-tree", "-r", "--numstat", "-z", base, ref) if base is not None else None
    counts = [line.split(b"\t")[:2] for line in told.stdout.split(b"\0") if line] if told is not None else []
    added, removed = (sum(int(one[side]) for one in counts if one[side] != b"-") for side in (0, 1))
    has_landed = commit == landed
    return Work(base=base or "", ref=ref, files=len(counts), insertions=added, deletions=removed, has_landed=has_landed)


def landed_of_gone(refs: Mapping[str, str], is_gone: Callable[[str], bool]) -> list[str]:
    """Return what is kept of tasks that are gone, where all of it has landed."""
    names = [ref for ref, commit in refs.items() if refs.get(ref + LANDED) == commit]
    gone = [ref for ref in names if is_gone(unquote(ref.removeprefix(REFS)))]
    return [ref + kind for ref in gone for kind in _KINDS if ref + kind in refs]


def taken_over(refs: Mapping[str, str], task: str, former: str) -> dict[str, str]:
    """Return the references by which a task goes on with the work of the one that it continues.

    None of them if that has no work, or none that has not landed: then the files have it.
    """
    mine, its = ref_of(task), ref_of(former)
    commits = {kind: refs.get(its + kind) for kind in (BASE, LANDED, "")}
    if commits[""] in (None, commits[LANDED]) or commits[BASE] is None:
        return {}
    return {mine + kind: commit for kind, commit in commits.items() if commit is not None}


async def forget_landed(view: View, refs: Mapping[str, str], is_gone: Callable[[str], bool]) -> None:
    """Remove what is kept of tasks that are gone, where all of it has landed; other work stays."""
    found = landed_of_gone(refs, is_gone)
    if found:
        stdin = _lines(f"delete {ref} {refs[ref]}" for ref in found)
        await view.ended("update-ref", "--no-deref", "--stdin", stdin=stdin)


async def take_over(view: View, task: str, former: str, refs: Mapping[str, str]) -> str | None:
    """Let a task go on with the work of the one that it continues, and return the commit; None if it has none."""
    taken = taken_over(refs, task, former)
    if taken:
        stdin = _lines(f"update {ref} {commit}" for ref, commit in taken.items())
        await view.run("update-ref", "--no-deref", "--stdin", stdin=stdin)
    return taken.get(ref_of(task))


def _lines(commands: Iterable[str]) -> bytes:
    return os.fsencode("".join(f"{one}\n" for one in commands))
