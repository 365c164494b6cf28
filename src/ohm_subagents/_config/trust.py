"""Trust in the files of a project: a record of their contents, in the user's own directory."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from uuid import uuid4

from ohm_subagents._config.regular_file import MAX_BYTES, read_regular
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER: Final = "trusted-projects"
_AGENTS: Final = ("agents", ".agents")
TRUST_COMMAND: Final = "ohm trust"
Covers: TypeAlias = Callable[[Path, str], bool]
"""Return True if the user trusts this file of a project with this text in it."""


def trust_nothing(_path: Path, _text: str) -> bool:
    """Trust no file."""
    return False


def trust_everything(_path: Path, _text: str) -> bool:
    """Trust each file."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRecord:
    """A project as its user has trusted it."""

    project: str
    """Its real path."""
    trusted_ms: int
    """When it was trusted, in epoch milliseconds."""
    files: Mapping[str, str]
    """The digest of each file, by its path from there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Project:
    """A directory that may have files for subagents."""

    folder: str
    """Its path, as it was given."""
    record: TrustRecord | None = None
    """The user's record of it; None for a project that is not trusted."""
    changed: str = ""
    """A file of the record that is not as it was; empty if all are."""
    damaged: str = ""
    """The reason that the record cannot be read; empty if it can."""

    def trusts(self, key: str, digest: str) -> bool:
        """Return True if the record has this file with this digest, and no file of it has changed."""
        return self.record is not None and not self.changed and self.record.files.get(key) == digest


class Trust:
    """The user's trust in the projects that an `Ohm` reads.

    A file belongs to the directory where it was looked for: the working directory, or the one above it that has the
    file, or the nearest folder of agents. Each has a record of its own, and is trusted if no file of that has changed.
    Where trust `is_given` by a program, every file is trusted. `asked` has the digest of each file that was looked up,
    by project.
    """

    def __init__(self, projects: tuple[Project, ...], *, is_given: bool = False) -> None:
        self._projects = projects
        self._is_given = is_given
        self.asked: dict[Project, dict[str, str]] = {}

    def covers(self, path: Path, text: str) -> bool:
        """Return True if the user trusts this file with this text in it."""
        project = self._project(Path(os.path.abspath(path)))  # noqa: PTH100  links count as where they stand
        key, digest = os.path.relpath(path, project.folder), _digest(text)
        self.asked.setdefault(project, {})[key] = digest
        return self._is_given or project.trusts(key, digest)

    def _project(self, path: Path) -> Project:
        """Return the project above that has the file, by itself or among its agents; else the working directory."""
        here, *above = self._projects
        if path.is_relative_to(here.folder):
            return here
        parents = tuple(path.parents)
        places = {str(one) for one in (parents[1:3] if path.parent.name in _AGENTS else parents[:1])}
        return next((one for one in above if one.folder in places), here)

    def is_whole(self) -> bool:
        """Return True if every file that was looked up is trusted."""
        return all(project.trusts(*file) for project, files in self.asked.items() for file in files.items())

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Name each project whose trust has lapsed."""
        here = self._projects[0]
        for project in self._projects:
            name = "The project" if project is here else f"The project '{project.folder}'"
            if project.damaged:
                message = f"{name} is not trusted: its record cannot be read ({project.damaged})."
                yield Diagnostic(subject=TRUST_COMMAND, message=message, advice=f"See '{TRUST_COMMAND}'.")
            if project.changed:
                message = f"{name} is not trusted any more: '{project.changed}' is not as it was."
                advice = f"Until you trust it anew ('{TRUST_COMMAND}'), its files only tighten."
                yield Diagnostic(subject=TRUST_COMMAND, message=message, advice=advice)


def read_trust(cwd: Path, directory: Path, *, is_given: bool = False) -> Trust:
    """Read the records in the user's `directory` for `cwd` and above; one that cannot be read counts as none."""
    here = Path(os.path.abspath(cwd))  # noqa: PTH100  links count as where they stand
    folders = [str(one) for one in (here, *here.parents)]
    if is_given or not os.path.isdir(directory / FOLDER):
        return Trust(tuple(Project(folder=one) for one in folders), is_given=is_given)
    return Trust(tuple(_project(one, directory) for one in folders))


def _project(folder: str, directory: Path) -> Project:
    real = os.path.realpath(folder)
    try:
        record = _record(_record_file(directory, real))
    except (FileNotFoundError, NotADirectoryError):
        return Project(folder=folder)
    except (OSError, ValueError) as error:
        return Project(folder=folder, damaged=getattr(error, "strerror", None) or "it is not what was written")
    if record.project != real:
        return Project(folder=folder)
    return Project(folder=folder, record=record, changed=next(_changes(folder, record), ""))


def changed_files(record: TrustRecord) -> tuple[str, ...]:
    """Return the files of a project that are not as they were trusted, gone ones included; any ends the trust."""
    return tuple(_changes(record.project, record))


def _changes(folder: str, record: TrustRecord) -> Iterator[str]:
    for key, digest in record.files.items():
        try:
            text = read_regular(Path(folder, key)).decode("utf-8-sig")
        except (OSError, ValueError):
            yield key
            continue
        if _digest(text) != digest:
            yield key


def trust_records(directory: Path) -> tuple[TrustRecord, ...]:
    """Return every project that the user has trusted, by path."""
    found: list[TrustRecord] = []
    with suppress(OSError):
        for path in (directory / FOLDER).iterdir():
            with suppress(OSError, ValueError):
                found.append(_record(path))
    return tuple(sorted(found, key=lambda one: one.project))


def write_trust(record: TrustRecord, directory: Path) -> Path:
    """Write a record, whole or not at all, readable for its user alone. Raises `OSError`."""
    path = _record_file(directory, record.project)
    content = json.dumps({"project": record.project, "trustedMs": record.trusted_ms, "files": {**record.files}})
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, "the project has too many files", str(path))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{uuid4().hex}.new")
    try:
        new.touch(mode=0o600, exist_ok=False)
        new.write_text(content, encoding="ascii")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    return path


def forget_trust(cwd: Path, directory: Path) -> bool:
    """Remove the record of a project; return True if there was one. Raises `OSError`."""
    try:
        _record_file(directory, os.path.realpath(cwd)).unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _record_file(directory: Path, project: str) -> Path:
    return directory / FOLDER / f"{_digest(project)[:32]}.json"


def _record(path: Path) -> TrustRecord:
    """Read the record of a file. Raises `ValueError` for a file without one."""
    match json.loads(read_regular(path)):
        case {"project": str(project), "trustedMs": int(trusted_ms), "files": dict()} as record:
            files = cast("dict[str, object]", record["files"])
            digests = {key: str(digest) for key, digest in files.items()}
            return TrustRecord(project=project, trusted_ms=trusted_ms, files=digests)
        case _:
            raise ValueError(path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
