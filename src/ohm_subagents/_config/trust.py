"""Which files of a project its user trusts: a record of what was in them, in the user's own directory."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from uuid import uuid4

from ohm_subagents._config.regular_file import MAX_BYTES, read_regular
from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER: Final = "trusted-projects"
COMMAND: Final = "ohm trust"
Covers: TypeAlias = Callable[[Path, str], bool]
"""Whether a file of a project may say this."""


def nothing(_path: Path, _text: str) -> bool:
    """Trust no file."""
    return False


def everything(_path: Path, _text: str) -> bool:
    """Trust each file."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRecord:
    """A project as its user has trusted it: its real path, when, and the digest of each file by its path from there."""

    project: str
    trusted_ms: int
    files: Mapping[str, str]


class Trust:
    """What the user trusts of the project in `cwd`: files that a record has, as they were then, if all still are so.

    All of it where trust `is_given` by a program. `asked` has the digest of each file that somebody asked about.
    """

    def __init__(
        self, cwd: Path, record: TrustRecord | None = None, *, is_given: bool = False, damaged: str = ""
    ) -> None:
        self.record = record
        self._is_given = is_given
        self.asked: dict[str, str] = {}
        self._cwd = os.path.abspath(cwd)  # noqa: PTH100  links count as where they stand
        self._damaged = damaged
        self.changed = () if record is None else tuple(self._changes(record))

    def covers(self, path: Path, text: str) -> bool:
        """Whether the user trusts this file with this text in it."""
        key = os.path.relpath(path, self._cwd)
        self.asked[key] = _digest(text)
        if self._is_given:
            return True
        return self.record is not None and not self.changed and self.record.files.get(key) == self.asked[key]

    def diagnostics(self) -> Iterator[Diagnostic]:
        """What the user relies on and does not have any more."""
        if self._damaged:
            message = f"The project is not trusted: its record cannot be read ({self._damaged}). See '{COMMAND}'."
            yield Diagnostic(subject=COMMAND, message=message)
        if self.changed:
            message = (
                f"The project is not trusted any more: '{self.changed[0]}' is not as it was. Until you trust it anew "
                f"('{COMMAND}'), its files only tighten."
            )
            yield Diagnostic(subject=COMMAND, message=message)

    def _changes(self, record: TrustRecord) -> Iterator[str]:
        for key, digest in record.files.items():
            try:
                text = read_regular(Path(self._cwd, key)).decode("utf-8-sig")
            except (OSError, ValueError):
                yield key
                continue
            if _digest(text) != digest:
                yield key


def read_trust(cwd: Path, directory: Path, *, is_given: bool = False) -> Trust:
    """What the user's record of the project says now, in their `directory`; an unreadable one counts for nothing."""
    if is_given:
        return Trust(cwd, is_given=True)
    path = _record_file(directory, os.path.realpath(cwd))
    try:
        record = _record(path)
    except (FileNotFoundError, NotADirectoryError):
        return Trust(cwd)
    except (OSError, ValueError) as error:
        return Trust(cwd, damaged=getattr(error, "strerror", None) or "it is not what was written")
    return Trust(cwd, record if record.project == os.path.realpath(cwd) else None)


def records(directory: Path) -> tuple[TrustRecord, ...]:
    """Every project that the user has trusted, by path."""
    found: list[TrustRecord] = []
    with suppress(OSError):
        for path in (directory / FOLDER).iterdir():
            with suppress(OSError, ValueError):
                found.append(_record(path))
    return tuple(sorted(found, key=lambda one: one.project))


def write_trust(record: TrustRecord, directory: Path) -> Path:
    """Keep a record, whole or not at all, for its user alone. Raises `OSError`."""
    path = _record_file(directory, record.project)
    content = json.dumps({"project": record.project, "trustedMs": record.trusted_ms, "files": {**record.files}})
    if len(content) > MAX_BYTES:
        raise OSError(0, "The project has too many files")
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
    """Remove the record of a project; whether there was one. Raises `OSError`."""
    try:
        _record_file(directory, os.path.realpath(cwd)).unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _record_file(directory: Path, project: str) -> Path:
    return directory / FOLDER / f"{_digest(project)[:32]}.json"


def _record(path: Path) -> TrustRecord:
    """The record of a file; `ValueError` for one that is none."""
    match json.loads(read_regular(path)):
        case {"project": str(project), "trustedMs": int(trusted_ms), "files": dict()} as record:
            files = cast("dict[str, object]", record["files"])
            digests = {key: str(digest) for key, digest in files.items()}
            return TrustRecord(project=project, trusted_ms=trusted_ms, files=digests)
        case _:
            raise ValueError(path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
