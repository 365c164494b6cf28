"""The parent of a clone as it is at a moment, to see whether anybody has changed it meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ohm_subagents.workspaces.snapshot import snapshot
from ohm_subagents.workspaces.work import BASE, LANDED, REFS

if TYPE_CHECKING:
    from ohm_subagents.workspaces.view import View

_FORMAT: Final = "%(refname) %(objectname)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """Everything of a repository that a task in a clone of it must not change."""

    head: str
    """The branch, or the commit, that is checked out."""
    refs: Mapping[str, str]
    """Its references and their objects."""
    landed: Mapping[str, str]
    """The references of tasks whose changes it has, and these."""
    index: str
    """The SHA-256 of the entries of its index."""
    tree: str
    """The id of the tree of its files."""


async def seen(view: View) -> Parent:
    """Look at the repository of a view."""
    head = (view.directory / "HEAD").read_text().strip()
    listed = (await view.run("for-each-ref", f"--format={_FORMAT}")).stdout.decode("utf-8", "surrogateescape")
    refs = [(name, to) for name, _, to in (line.partition(" ") for line in listed.splitlines())]
    index = (await view.run("ls-files", "-s", "-z")).stdout if view.has_index() else b""
    return Parent(
        head=head,
        refs={name: to for name, to in refs if not name.startswith(REFS)},
        landed={name: to for name, to in refs if name.startswith(REFS) and name.endswith(LANDED)},
        index=sha256(index).hexdigest(),
        tree=(await snapshot(view, "Files of the parent", head=None)).tree,
    )


async def changes(view: View, before: Parent) -> list[str]:
    """Name what differs from an earlier look and did not land: HEAD, references, the index and files."""
    now = await seen(view)
    found = ["HEAD"] if now.head != before.head else []
    found += [
        name for name in sorted(now.refs.keys() | before.refs.keys()) if now.refs.get(name) != before.refs.get(name)
    ]
    found += ["the index"] if now.index != before.index else []
    if now.tree == before.tree:
        return found
    landed: set[bytes] = set()
    for name, commit in now.landed.items() - before.landed.items():
        landed.update(await _differing(view, before.landed.get(name) or name.removesuffix(LANDED) + BASE, commit))
    names = await _differing(view, before.tree, now.tree)
    return [*found, *(name.decode("utf-8", "backslashreplace") for name in names if name not in landed)]


async def _differing(view: View, one: str, other: str) -> list[bytes]:
    told = await view.run("diff-tree", "-r", "--name-only", "-z", one, other)
    return [name for name in told.stdout.split(b"\0") if name]
