"""Trees of files that are kept without git: each content once, and a manifest for each tree."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from anyio import to_thread

from ohm_subagents.workspaces.block_sharing import Unchanged, share_part
from ohm_subagents.workspaces.contents import Contents
from ohm_subagents.workspaces.failure import WorkspaceError
from ohm_subagents.workspaces.known_files import Entry, Known, found_below, read_known
from ohm_subagents.workspaces.packed_files import is_settled
from ohm_subagents.workspaces.parts import by_parts
from ohm_subagents.workspaces.places import make_directory, private_directory, settle
from ohm_subagents.workspaces.source import Source
from ohm_subagents.workspaces.work import BASE, LANDED, REFS, Kept, ref_of
from ohm_subagents.workspaces.working_files import Version, version_of

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.workspaces.packing import Facts

Manifest: TypeAlias = Mapping[bytes, Version]
_LINK: Final = 0o120000
_EXECUTABLE: Final = 0o100755
_RIGHTS: Final = {0o100644: 0o666, _EXECUTABLE: 0o777}
_LOW: Final = 2**32 - 1
_SPARED: Final = 2**26
"""Bytes of content of no use that stay."""


class Depot:
    """Keeps what the files of one directory were, and what tasks did to them, in a directory of its own."""

    def __init__(self, directory: Path, top: Path, *, drafts: Path) -> None:
        """`top` is the directory that it is about. What is unfinished is below `drafts`, in private directories."""
        self._directory = directory
        self._drafts = drafts
        self._index = directory / "index"
        self._size = 0
        self._contents = Contents(directory / "files")
        self.source = Source(top=top, git_dir=directory, common_dir=directory)
        """The same in the words of a repository, which names the places of landings."""
        for name in ("trees", "refs"):
            make_directory(directory / name)

    async def snapshot(self) -> str:
        """Keep the files of the directory, and return the id of their tree. Only what has changed is read."""
        since_ns, top = time.time_ns(), self.source.top
        async with private_directory(self._drafts) as scratch:
            known, kept, new = await self._seen(top, self._index, scratch)
            self._size = known.size
            if not new and len(kept) == len(known.files) and await to_thread.run_sync(self._has, known.tree):
                return known.tree
            settled = kept | {path: one for path, one in new.items() if is_settled(one[2], since_ns)}
            return await to_thread.run_sync(self._write, kept | new, settled, scratch)

    async def snapshot_of(self, clone: Path, index: Path) -> str:
        """Keep the files of what `write_out` has made, and return the id of their tree."""
        async with private_directory(self._drafts) as scratch:
            _, kept, new = await self._seen(clone, index, scratch)
            return await to_thread.run_sync(self._write_tree, kept | new, scratch)

    async def write_out(self, tree: str, clone: Path, index: Path) -> None:
        """Make the files of a tree in a directory that is not there yet, and have `index` know them.

        What the directory has unchanged is copied from there, or shares its blocks.
        """
        await to_thread.run_sync(clone.mkdir)
        unchanged = await to_thread.run_sync(self._unchanged, tree)
        made = await by_parts(share_part, f"{self.source.top}", f"{clone}", unchanged)
        await to_thread.run_sync(self._fill, tree, dict(made), clone, index)

    def manifest(self, tree: str) -> Manifest:
        """Return the files of a tree."""
        return {os.fsencode(path): Version(mode, oid) for path, (mode, oid) in self._files(tree).items()}

    def content(self, version: Version | None) -> bytes:
        """Return the content of a file; nothing for None."""
        return b"" if version is None else b"".join(self._chunks(version))

    def put(self, version: Version, file: Path) -> None:
        """Make a file or a link of this content, where nothing is."""
        file.parent.mkdir(parents=True, exist_ok=True)
        if version.mode == _LINK:
            file.symlink_to(os.fsdecode(self.content(version)))
            return
        with file.open("xb") as new:
            new.writelines(self._chunks(version))
        if version.mode == _EXECUTABLE:
            file.chmod(file.stat().st_mode | 0o111)

    def refs(self) -> dict[str, str]:
        """Return all references of tasks, each with its tree."""
        found = dict[str, str]()
        for one in (self._directory / "refs").iterdir():
            with suppress(FileNotFoundError):  # another task has just been forgotten
                found[REFS + one.name] = one.read_text()
        return found

    def kept(self, task: str) -> Kept:
        """Return the trees that are kept of a task."""
        refs, ref = self.refs(), ref_of(task)
        return Kept(work=refs.get(ref), base=refs.get(ref + BASE), landed=refs.get(ref + LANDED))

    def refer(self, ref: str, tree: str | None) -> None:
        """Let a reference be one to this tree; None removes it."""
        file = self._directory / "refs" / ref.removeprefix(REFS)
        if tree is None:
            file.unlink(missing_ok=True)
        else:
            draft = self._directory / f"{file.name}.draft"
            with draft.open("w") as opened:
                opened.write(tree)
                opened.flush()
                os.fsync(opened.fileno())
            draft.replace(file)

    def keep(self, ref: str, tree: str) -> None:
        """Let a reference be one to this tree, and wait until both, with all contents, are on the disk."""
        for name in ("files", "trees"):
            settle(self._directory / name)
        self.refer(ref, tree)
        settle(self._directory / "refs")

    async def forget(self, task: str) -> None:
        """Remove all that is kept of a task."""
        for kind in (LANDED, BASE, ""):
            self.refer(ref_of(task) + kind, None)

    async def commit(self, name: str) -> str | None:
        """Return what a reference stands for."""
        return self.refs().get(name)

    async def cleared(self, tree: str) -> str:
        """Remove all but the tree of the last snapshot, and return the id of the files as they are then.

        Nobody else may need anything. If most of the contents are of no use, all are kept anew.
        """
        return tree if await to_thread.run_sync(self._clear, tree) else await self.snapshot()

    def _clear(self, tree: str) -> bool:
        for other in (self._directory / "trees").iterdir():
            if other.name != tree:
                other.unlink()
        if self._contents.size() <= 2 * self._size + _SPARED:
            return True
        self._index.unlink(missing_ok=True)
        self._contents.clear()
        return False

    async def _seen(self, top: Path, index: Path, scratch: Path) -> tuple[Known, dict[str, Entry], dict[str, Entry]]:
        """Return what was known of files, what is still so, and what is new of them, whose content is kept now."""
        known, kept, new = await to_thread.run_sync(self._compared, top, index)
        packed = await self._contents.add(top, new, scratch) if new else []
        return known, kept, {path: (mode, oid, facts) for path, mode, oid, facts in packed}

    def _compared(self, top: Path, index: Path) -> tuple[Known, dict[str, Entry], list[str]]:
        found, known, has = found_below(top), read_known(index), self._contents.has
        kept = {path: one for path, one in known.files.items() if one[2] == found.get(path) and has(one[1])}
        return known, kept, [path for path in found if path not in kept]

    def _unchanged(self, tree: str) -> list[Unchanged]:
        """Return those that are files of the directory as it was last seen; whoever copies one looks at it again."""
        known, unchanged = read_known(self._index).files, list[Unchanged]()
        for n, (path, (mode, oid)) in enumerate(self._files(tree).items()):
            one = known.get(path)
            if one is not None and mode in _RIGHTS and (mode, oid) == (one[0], one[1]):
                since_ns, written_ns, inode, *_, size = one[2]
                unchanged.append((n, path, _RIGHTS[mode], since_ns, written_ns, inode & _LOW, size & _LOW))
        return unchanged

    def _fill(self, tree: str, made: Mapping[int, tuple[int, ...]], clone: Path, index: Path) -> None:
        known = dict[str, Entry]()
        for n, (path, (mode, oid)) in enumerate(self._files(tree).items()):
            if n in made:
                known[path] = (mode, oid, _facts(made[n]))
            else:
                (clone / path).unlink(missing_ok=True)  # a process may have failed once it had made it
                self.put(Version(mode, oid), clone / path)
        index.write_text(json.dumps(Known(tree, 0, known)))

    def _files(self, tree: str) -> dict[str, tuple[int, str]]:
        text = self._text(tree)
        if not text:
            raise self._gone()
        files: dict[str, tuple[int, str]] = json.loads(text)
        return files

    def _text(self, tree: str) -> bytes:
        """Return what is written of a tree; nothing where that is not there, or damaged, as after a loss of power."""
        try:
            text = (self._directory / "trees" / tree).read_bytes() if tree else b""
        except FileNotFoundError:
            return b""
        return text if _id(text) == tree else b""

    def _has(self, tree: str) -> bool:
        return bool(self._text(tree))

    def _write_tree(self, entries: Mapping[str, Entry], scratch: Path) -> str:
        text = _text(entries)
        tree = _id(text)
        if not self._has(tree):
            _move(text, scratch / "tree", self._directory / "trees" / tree)
        return tree

    def _write(self, entries: Mapping[str, Entry], settled: Mapping[str, Entry], scratch: Path) -> str:
        """Write the tree of files, and what those are known by again that leave a trace if they change."""
        self._size = sum(facts[-1] for _, _, facts in entries.values())
        tree = self._write_tree(entries, scratch)
        known = Known(tree if len(settled) == len(entries) else "", self._size, settled)
        _move(json.dumps(known).encode(), scratch / "index", self._index)
        return tree

    def _chunks(self, version: Version) -> Iterator[bytes]:
        if not self._contents.has(version.oid):
            raise self._gone()
        try:
            yield from self._contents.chunks(version.oid)
        except (OSError, zlib.error):
            raise self._gone() from None

    def _gone(self) -> WorkspaceError:
        return WorkspaceError(f"The files of '{self.source.top}' as they were are not kept any more.")


def tree_id(top: Path) -> str:
    """Return the id of the tree of the files below a directory, and keep nothing."""
    found = ((path, version_of(top / path)) for path in found_below(top))
    return _id(_text({path: (one.mode, one.oid) for path, one in found if one is not None}))


def differing(one: Manifest, other: Manifest) -> list[bytes]:
    """Return the paths at which two trees differ."""
    return sorted(path for path in {*one, *other} if one.get(path) != other.get(path))


def _text(versions: Mapping[str, Sequence[Any]]) -> bytes:
    return json.dumps({path: versions[path][:2] for path in sorted(versions)}).encode()


def _id(text: bytes) -> str:
    return sha256(text).hexdigest()


def _move(text: bytes, draft: Path, file: Path) -> None:
    draft.write_bytes(text)
    draft.replace(file)


def _facts(made: tuple[int, ...]) -> Facts:
    since, since_ns, written, written_ns, _device, *others = made
    return [since * 10**9 + since_ns, written * 10**9 + written_ns, *others]
