"""A directory that git takes for the repository of somebody else, with settings of our own."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.workspaces.failure import WorkspaceError
from ohm_subagents.workspaces.source import read_small

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ohm_subagents.workspaces.git import Git, Output
    from ohm_subagents.workspaces.source import Source

ATTRIBUTES: Final = "* -text -eol -ident -filter -working-tree-encoding\n"
"""Files are kept byte by byte: no filter runs, and no end of line is changed."""
_HEAD: Final = re.compile(rb"ref: refs/|[0-9a-f]{40}")
_SETTINGS: Final = """\
[core]
	repositoryFormatVersion = 1
	bare = false
	fileMode = true
	symlinks = true
	autocrlf = false
	fsmonitor = false
	untrackedCache = false
	sparseCheckout = false
	hooksPath = /dev/null
	logAllRefUpdates = false
	looseCompression = 1
	precomposeUnicode = false
[gc]
	auto = 0
[maintenance]
	auto = false
[protocol]
	allow = never
[protocol "file"]
	allow = always
"""


class View:
    """Shows the history and the working tree of a `Source`, and reads no setting, hook or filter of it.

    What is written goes into `objects`, and references into the repository of the source.
    """

    def __init__(self, git: Git, source: Source, directory: Path, objects: Path) -> None:
        self.git = git
        self.source = source
        self.directory = directory
        self.objects = objects
        self._more = {
            "GIT_DIR": f"{directory}",
            "GIT_WORK_TREE": f"{source.top}",
            "GIT_OBJECT_DIRECTORY": f"{objects}",
        }

    @classmethod
    async def opened(
        cls,
        git: Git,
        source: Source,
        directory: Path,
        *,
        objects: Path | None = None,
        more_objects: Sequence[Path] = (),
    ) -> View:
        """Make a view in a directory that is not there yet.

        Without `objects`, what is written goes to the repository of the source; `more_objects` are read only.
        """
        view = cls(git, source, directory, objects or source.objects)
        view._more |= await git.ignoring()
        try:
            await to_thread.run_sync(view._make, more_objects)
        except OSError as error:
            unreadable = f"The repository of '{source.top}' cannot be read: {error}."
            raise WorkspaceError(unreadable) from None
        return view

    def has_index(self) -> bool:
        """Return True if it began with an index of the source."""
        return os.path.exists(self.directory / "index")

    def keep_index(self) -> None:
        """Let later views begin with the index of this one, unless its objects are gone by then."""
        if self.objects != self.source.objects:
            return
        new = self.source.git_dir / f"index.{token_hex(8)}"
        with suppress(FileNotFoundError):
            shutil.copy2(self.directory / "index", new)  # with its time, by which git knows what may have changed since
            new.replace(self.source.git_dir / "index")

    async def run(self, *arguments: str, stdin: bytes = b"", date: str = "") -> Output:
        """Run a command of git here. Raises `WorkspaceError` if it fails."""
        dated = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
        return await self.git.run(*arguments, cwd=self.source.top, stdin=stdin, more=self._more | dated)

    async def ended(self, *arguments: str, stdin: bytes = b"") -> Output:
        """Return how a command of git ends here."""
        return await self.git.ended(*arguments, cwd=self.source.top, stdin=stdin, more=self._more)

    async def says(self, *arguments: str) -> str | None:
        """Return the line that a command of git says here; None if it says no."""
        output = await self.ended(*arguments)
        return None if output.code else output.line

    async def commit(self, name: str) -> str | None:
        """Return the commit that a name stands for; None for none."""
        return await self.says("rev-parse", "-q", "--verify", f"{name}^{{commit}}")

    def _make(self, more_objects: Sequence[Path]) -> None:
        source, here = self.source, self.directory
        ours = source.common_dir / "refs" / "ohm"
        if ours.is_symlink():
            astray = f"'{ours}' is a link, and leads out of the repository."
            raise WorkspaceError(astray, "Remove it.")
        (here / "info").mkdir(parents=True)
        (here / "config").write_text(_SETTINGS + self._extensions())
        (here / "info" / "attributes").write_text(ATTRIBUTES)
        (here / "info" / "exclude").write_bytes(read_small(source.common_dir / "info" / "exclude"))
        head = read_small(source.git_dir / "HEAD")
        (here / "HEAD").write_bytes(head if _HEAD.match(head) else b"ref: refs/heads/.invalid\n")
        for name in ("refs", "packed-refs", "reftable"):
            if name == "packed-refs" or os.path.isdir(source.common_dir / name):
                (here / name).symlink_to(source.common_dir / name)
        for copied in (source.git_dir / "index", *source.git_dir.glob("sharedindex.*"), source.common_dir / "shallow"):
            with suppress(FileNotFoundError):
                shutil.copy2(copied, here / copied.name)
        if self.objects != source.objects:
            write_alternates(self.objects, (source.objects, *more_objects))

    def _extensions(self) -> str:
        hashing = "" if self.source.object_format == "sha1" else "\tobjectFormat = sha256\n"
        refs = "\trefStorage = reftable\n" if os.path.isdir(self.source.common_dir / "reftable") else ""
        return f"[extensions]\n{hashing}{refs}" if hashing or refs else ""


def write_alternates(objects: Path, others: Sequence[Path]) -> None:
    """Have a store of objects read those of others too."""
    (objects / "info").mkdir(parents=True, exist_ok=True)
    (objects / "info" / "alternates").write_bytes(b"".join(_line(os.fsencode(other)) for other in others))


def _line(path: bytes) -> bytes:
    if not path.startswith((b"#", b'"')) and b"\n" not in path:
        return path + b"\n"
    quoted = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + quoted + b'"\n'
