"""The parent of a clone as it is at a moment, to see whether anybody has changed it meanwhile."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from ohm_subagents.workspaces.snapshot import tree_of
from ohm_subagents.workspaces.work import BASE, LANDED, REFS, Parent, refs_below

if TYPE_CHECKING:
    from ohm_subagents.workspaces.view import View


async def seen(view: View) -> Parent:
    """Look at the repository of a view."""
    refs = await refs_below(view)
    head = (view.directory / "HEAD").read_text().strip()
    checked_out = None if view.has_index() else await view.says("rev-parse", "-q", "--verify", "HEAD")
    index, tree = await tree_of(view, head=checked_out)
    return Parent(
        head=head,
        refs={name: to for name, to in refs.items() if not name.startswith(REFS)},
        kept={name: to for name, to in refs.items() if name.startswith(REFS)},
        index=sha256(index).hexdigest(),
        tree=tree,
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
    for name, commit in now.kept.items() - before.kept.items():
        if name.endswith(LANDED):
            landed.update(await _differing(view, before.kept.get(name) or name.removesuffix(LANDED) + BASE, commit))
    names = await _differing(view, before.tree, now.tree)
    return [*found, *(name.decode("utf-8", "backslashreplace") for name in names if name not in landed)]


async def _differing(view: View, one: str, other: str) -> list[bytes]:
    told = await view.run("diff-tree", "-r", "--name-only", "-z", one, other)
    return [name for name in told.stdout.split(b"\0") if name]
