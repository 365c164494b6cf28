"""The files of a configuration directory of `pi`: where the user's is, and what is in its files."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents.backends.pi.records import as_list, as_record, as_text, record_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_subagents.backends.pi.records import Record
    from ohm_subagents.plugin import RunRequest


def users_directory(env: Mapping[str, str]) -> Path:
    """Return the user's own directory."""
    named = env.get("PI_CODING_AGENT_DIR", "").strip() or env.get("PI_AGENT_DIR", "").strip()
    home = Path(env.get("HOME", "") or os.devnull)
    if named == "~" or named.startswith("~/"):
        return home / named[2:]
    return Path(named) if named else home / ".pi" / "agent"


def has_extensions(directory: Path) -> bool:
    """Return True if a configuration directory has an extension or a package that may bring tools."""
    settings = record_in(content_of(directory / "settings.json") or b"")
    try:
        is_filled = any(map(_is_extension, (directory / "extensions").iterdir()))
    except OSError:
        is_filled = False
    return is_filled or any(as_list(settings.get(key)) for key in ("extensions", "packages"))


def _is_extension(place: Path) -> bool:
    """Return True if `pi` loads it: a program, or a folder with one. A folder may as well hold settings only."""
    if os.path.isdir(place):
        return any(os.path.exists(place / name) for name in ("package.json", "index.ts", "index.js"))
    return place.suffix in {".ts", ".js"}


def stamp_of(file: Path) -> object:
    try:
        known = file.stat()
    except OSError:
        return None
    return (known.st_mtime_ns, known.st_size, known.st_ino)


def content_of(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def models_in(content: bytes | None) -> Record | None:
    """Return a models.json that providers can be added to, or None."""
    known = record_in(content or b"{}")
    providers = known.get("providers")
    is_read = bool(known) or not content or content.split() == [b"{}"]
    return known if is_read and (not providers or as_record(providers)) else None


def strings_in(value: object) -> Iterator[str]:
    """Yield every string in a piece of JSON."""
    if isinstance(value, str):
        yield value
    else:
        inner = (*as_record(value).values(), *as_list(value))
        yield from chain.from_iterable(map(strings_in, inner))


def asked_provider(request: RunRequest, settings: Path) -> str | None:
    """The provider of the run, in lower case: of its model, of its profile, else of `settings`; None if none says."""
    if request.model is not None:
        return request.model.provider
    if request.profile.agent is not None and request.profile.agent.provider:
        return request.profile.agent.provider.lower()
    return as_text(record_in(content_of(settings) or b"").get("defaultProvider")).lower() or None
