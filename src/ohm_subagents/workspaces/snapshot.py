"""The commit that has all files of a working tree as they are, made with an index of its own."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents._records import dataclass
from ohm_subagents.workspaces.failure import refuse_much
from ohm_subagents.workspaces.packed_files import note_packed, packed_into
from ohm_subagents.workspaces.packing import is_inside
from ohm_subagents.workspaces.source import source_of
from ohm_subagents.workspaces.view import View

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ohm_subagents.workspaces.packing import Packed
    from ohm_subagents.workspaces.source import Source

_ADVICE: Final = ("Commit them, or have them ignored by .gitignore.", "Have some of them ignored by .gitignore.")
"""The advice on too many bytes in a repository, and in none."""
_NO_DATE: Final = "@0 +0000"
_GITLINK: Final = re.compile(rb"(?:^|\0)\S 160000 [0-9a-f]+ \d\t([^\0]*)")
_UNWATCHED: Final = re.compile(rb"(?:^|\0)([a-zS]) \d+ [0-9a-f]+ \d\t([^\0]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A commit and its tree."""

    commit: str
    """The id of the commit."""
    tree: str
    """The id of its tree."""


@dataclass(slots=True)
class _Changes:
    """The paths in a working tree that its index does not have as they are."""

    files: set[bytes] = field(default_factory=set[bytes])
    repositories: set[bytes] = field(default_factory=set[bytes])
    """Directories with a repository of their own: submodules, and others."""

    def take(self, names: bytes, within: bytes = b"") -> None:
        """Add the names that git lists, in a directory that ends with `/`."""
        for name in names.split(b"\0"):
            if name.endswith(b"/"):
                self.repositories.add(within + name.rstrip(b"/"))
            elif name:
                self.files.add(within + name)


async def head_of(view: View) -> str | None:
    """Return the commit of HEAD, which may be missing; None before the first one."""
    return await view.says("rev-parse", "-q", "--verify", "HEAD")


async def snapshot(view: View, message: str, *, head: str | None) -> Snapshot:
    """Return a commit of the working tree on top of `head`, or `head` itself where nothing differs.

    Ignored files are not in it. Files of nested repositories are, as files like any other. The same tree on the same
    commit is the same snapshot.
    """
    _, tree = await tree_of(view, head=head)
    return Snapshot(commit=await committed(view, tree, message, head=head), tree=tree)


async def tree_of(view: View, *, head: str | None) -> tuple[bytes, str]:
    """Return the entries of the index as it is, and the tree of the files: those of `head` where there is no index.

    That of a repository of ours has none to tell of: it is kept, so that the next look reads only what has changed.
    """
    if not view.has_index():  # that of the source knows what has not changed
        await view.run("read-tree", head or "--empty")
    if view.source.is_ours:
        ignored = (await view.run("ls-files", "-c", "-i", "-z", "--exclude-standard")).stdout
        await view.run("update-index", "--force-remove", "-z", "--stdin", stdin=ignored)
    index, changes = await _changes(view)
    if changes.files:
        size = await to_thread.run_sync(_size, view.source.top, changes.files)
        refuse_much(view.source.top, size, "files that are new or changed", _ADVICE[view.source.is_ours])
        since_ns, gone = time.time_ns(), await to_thread.run_sync(_beyond_links, view.source.top, changes.files)
        if gone:
            await view.run("update-index", "--force-remove", "-z", "--stdin", stdin=_joined(gone))
        files = changes.files - gone
        packed: Mapping[bytes, Packed] = await packed_into(view, files) if view.source.is_ours else {}
        options = ("--add", "--remove", "--replace", "-z", "--stdin")
        await view.run("update-index", *options, stdin=_joined(files - packed.keys()))
        await note_packed(view, packed, since_ns)
    tree = (await view.run("write-tree")).line
    if view.source.is_ours:
        await to_thread.run_sync(view.keep_index)
        index = b""
    return index, tree


async def committed(view: View, tree: str, message: str, *, head: str | None) -> str:
    """Return a commit of a tree on top of `head`, or `head` itself if it has it. Raises `WorkspaceError` without it."""
    if head is None:
        return (await view.run("commit-tree", tree, "-m", message, date=_NO_DATE)).line
    tree_of_head, _, second = (await view.run("log", "-1", "--format=%T %ct", head)).line.partition(" ")
    if tree == tree_of_head:
        return head
    return (await view.run("commit-tree", tree, "-p", head, "-m", message, date=f"@{second} +0000")).line


async def _changes(view: View) -> tuple[bytes, _Changes]:
    """Return the entries of the index, and what is to be added, in nested repositories too."""
    changes = _Changes()
    index = (await view.run("ls-files", "-v", "-s", "-z")).stdout
    await _watch(view, index)
    changes.take((await view.run("diff-files", "--name-only", "--ignore-submodules=all", "-z")).stdout)
    changes.take((await view.run("ls-files", "-o", "-z", "--exclude-standard")).stdout)
    changes.repositories.update(_GITLINK.findall(index))
    while changes.repositories:
        await _take_nested(view, changes, changes.repositories.pop())
    return index, changes


async def _watch(view: View, index: bytes) -> None:
    """Look at files that the index says not to look at; at those outside of a sparse checkout if they are there."""
    there = await to_thread.run_sync(_there, view.source.top, _UNWATCHED.findall(index))
    for option in ("--no-assume-unchanged", "--no-skip-worktree") if there else ():
        await view.run("update-index", option, "-z", "--stdin", stdin=_joined(there))


async def _take_nested(view: View, changes: _Changes, path: bytes) -> None:
    """Add the files of a repository below this one; a submodule that was never fetched has none."""
    source = await to_thread.run_sync(_nested_in, view.source.top / os.fsdecode(path))
    if source is None:
        return
    inner = await View.opened(view.git, source, view.directory / "nested" / sha256(path).hexdigest())
    gitlinks = {path + b"/" + one for one in _GITLINK.findall((await inner.run("ls-files", "-v", "-s", "-z")).stdout)}
    changes.take((await inner.run("ls-files", "-c", "-o", "-z", "--exclude-standard")).stdout, path + b"/")
    changes.files -= gitlinks
    changes.repositories |= gitlinks


def _nested_in(directory: Path) -> Source | None:
    is_directory = os.path.isdir(directory) and not directory.is_symlink()
    source = source_of(directory) if is_directory else None
    return source if source is not None and source.top == directory else None


def _there(top: Path, unwatched: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    return [path for tag, path in unwatched if tag not in b"Ss" or os.path.lexists(top / os.fsdecode(path))]


def _beyond_links(top: Path, paths: Iterable[bytes]) -> set[bytes]:
    """Return the files whose directory is gone, or a link now: git refuses to remove what is beyond one."""
    within, folders = os.fsencode(top) + b"/", {b"": True}
    return {path for path in paths if not is_inside(within, path.rpartition(b"/")[0], folders)}


def _joined(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in sorted(paths))


def _size(top: Path, paths: Iterable[bytes]) -> int:
    size, within = 0, os.fsencode(top) + b"/"
    for path in paths:
        with suppress(OSError):  # it is gone, which is a change like any other
            size += os.lstat(within + path).st_size
    return size
