"""Trees of files that are kept without git: each content once, and a manifest for each tree."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, TypeAlias

from ohm_subagents.workspaces.failure import WorkspaceError
from ohm_subagents.workspaces.included import fill
from ohm_subagents.workspaces.places import make_directory
from ohm_subagents.workspaces.snapshot import MAX_NEW_BYTES
from ohm_subagents.workspaces.source import Source
from ohm_subagents.workspaces.work import BASE, LANDED, REFS, Kept, ref_of
from ohm_subagents.workspaces.working_files import Version, is_version, version_of

Manifest: TypeAlias = Mapping[bytes, Version]
_SKIPPED: Final = frozenset({b".git", b".ohm-landing"})
_LINK: Final = 0o120000
_EXECUTABLE: Final = 0o100755


class Depot:
    """Keeps what the files of one directory were, and what tasks did to them, in a directory of its own."""

    def __init__(self, directory: Path, top: Path) -> None:
        """`top` is the directory that it is about."""
        self._directory = directory
        self.source = Source(top=top, git_dir=directory, common_dir=directory)
        """The same in the words of a repository, which names the places of landings."""
        for name in ("files", "trees", "refs"):
            make_directory(directory / name)

    def snapshot(self, top: Path) -> str:
        """Keep the files below a directory, and return the id of their tree."""
        text = _listed(top, self._kept)
        tree = sha256(text).hexdigest()
        self._write(self._directory / "trees" / tree, text)
        return tree

    def manifest(self, tree: str) -> Manifest:
        """Return the files of a tree."""
        try:
            entries = json.loads((self._directory / "trees" / tree).read_bytes())
        except FileNotFoundError:
            gone = f"The files of '{self.source.top}' as they were are not kept any more."
            raise WorkspaceError(gone) from None
        return {os.fsencode(path): Version(mode, oid) for path, (mode, oid) in entries.items()}

    def content(self, version: Version | None) -> bytes:
        """Return the content of a file; nothing for None."""
        return b"" if version is None else self._file(version).read_bytes()

    def put(self, version: Version, file: Path) -> None:
        """Make a file or a link of this content, where nothing is."""
        file.parent.mkdir(parents=True, exist_ok=True)
        if version.mode == _LINK:
            file.symlink_to(os.fsdecode(self.content(version)))
            return
        with self._file(version).open("rb") as old, file.open("xb") as new:
            fill(old.fileno(), new.fileno())
        if version.mode == _EXECUTABLE:
            file.chmod(file.stat().st_mode | 0o111)

    def refs(self) -> dict[str, str]:
        """Return all references of tasks, each with its tree."""
        return {REFS + one.name: one.read_text() for one in (self._directory / "refs").iterdir()}

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
            self._write(file, tree.encode(), anew=True)

    async def forget(self, task: str) -> None:
        """Remove all that is kept of a task."""
        for kind in (LANDED, BASE, ""):
            self.refer(ref_of(task) + kind, None)

    async def commit(self, name: str) -> str | None:
        """Return what a reference stands for."""
        return self.refs().get(name)

    def clear(self) -> None:
        """Remove all content that no task needs, once there is no reference."""
        if not self.refs():
            for name in ("files", "trees"):
                shutil.rmtree(self._directory / name, ignore_errors=True)
                make_directory(self._directory / name)

    def _kept(self, file: Path) -> Version | None:
        """Keep the content of a file; None for what is none, as a pipe."""
        try:
            version = version_of(file)
        except FileNotFoundError:
            return None
        if version is None or os.path.lexists(self._file(version)):
            return version
        if version.mode == _LINK:
            self._write(self._file(version), os.fsencode(file.readlink()))
            return version
        with file.open("rb") as old, NamedTemporaryFile(dir=self._directory, delete=False) as new:
            fill(old.fileno(), new.fileno())
        copy = Path(new.name)
        copy.chmod(0o700 if version.mode == _EXECUTABLE else 0o600)
        copied = version if is_version(copy, version) else version_of(copy)  # it may have changed meanwhile
        copy.rename(self._file(copied or version))
        return copied

    def _file(self, version: Version) -> Path:
        return self._directory / "files" / f"{version.mode:o}-{version.oid}"

    def _write(self, file: Path, text: bytes, *, anew: bool = False) -> None:
        if anew or not os.path.lexists(file):
            with NamedTemporaryFile(dir=self._directory, delete=False) as draft:
                draft.write(text)
            Path(draft.name).rename(file)


def tree_id(top: Path) -> str:
    """Return the id of the tree of the files below a directory, and keep nothing."""
    return sha256(_listed(top, version_of)).hexdigest()


def _listed(top: Path, version_at: Callable[[Path], Version | None]) -> bytes:
    """Return the manifest of the files below a directory. Directories `.git` are left out."""
    paths = sorted(_paths(os.fsencode(top)))
    size = sum((top / os.fsdecode(path)).lstat().st_size for path in paths)
    if size > MAX_NEW_BYTES:
        told = f"'{top}' has {size / 2**30:.1f} GiB in files; without git, at most {MAX_NEW_BYTES // 2**30} GiB"
        much = f"{told} are copied."
        raise WorkspaceError(much, "Install git, and have files ignored by .gitignore.")
    found = ((os.fsdecode(path), version_at(top / os.fsdecode(path))) for path in paths)
    return json.dumps({path: [one.mode, one.oid] for path, one in found if one is not None}).encode()


def _paths(top: bytes, within: bytes = b"") -> list[bytes]:
    found = list[bytes]()
    with os.scandir(top + b"/" + within) as entries:
        for entry in entries:
            path = within + entry.name
            if entry.name.lower() in _SKIPPED:
                continue
            if entry.is_dir(follow_symlinks=False):
                found += _paths(top, path + b"/")
            elif stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode) in {stat.S_IFREG, stat.S_IFLNK}:
                found.append(path)
    return found


def differing(one: Manifest, other: Manifest) -> list[bytes]:
    """Return the paths at which two trees differ."""
    return sorted(path for path in {*one, *other} if one.get(path) != other.get(path))
