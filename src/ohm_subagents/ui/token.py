"""The token of the page: kept in the user's directory, so that a page left open goes on when the server is back."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = "ohm.ui.token"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_KNOWN: Final = os.O_RDONLY | os.O_NOFOLLOW
_CHARS: Final = 43
"""The characters of 32 bytes."""


def kept_token(directory: Path) -> str:
    """Return the token of this user, made and kept for the owner alone where there is none.

    Where it cannot be kept, it holds for this run. A file that others can read or write counts for nothing.
    """
    file = directory / FILE
    with suppress(OSError, ValueError):
        if (known := _read(file)) is not None:
            return known
    token = token_urlsafe(32)
    with suppress(OSError):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        with open(os.open(file, _NEW, 0o600), "w", encoding="ascii") as stream:  # noqa: PTH123  it is open already
            stream.write(token)
    return token


def _read(file: Path) -> str | None:
    with open(os.open(file, _KNOWN), encoding="ascii") as stream:  # noqa: PTH123  it is open already
        about = os.fstat(stream.fileno())
        is_ours = about.st_uid == os.geteuid() and not stat.S_IMODE(about.st_mode) & 0o077
        token = stream.read(_CHARS + 1)
    return token if is_ours and len(token) == _CHARS else None
