"""How this installation gets more parts: a clone and an index need different commands."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import quote
from typing import Final
from urllib.parse import unquote, urlsplit

PROJECT: Final = "ohm-subagents"
_IN_THE_CLONE: Final = {"cli": "plugins/ohm-backend-cli", "local": "plugins/ohm-local-model"}
"""Extras that are distributions of their own, and their folders."""


def install_command(extra: str, origin: str | None = None) -> str:
    """Write the command that installs an extra where this installation came from: an index, a folder or a repository.

    `origin` is its `direct_url.json` (PEP 610); None looks it up.
    """
    source = _read(_origin() if origin is None else origin)
    url = source.get("url")
    if not isinstance(url, str):
        return f"pip install '{PROJECT}[{extra}]'"
    parts = urlsplit(url)
    if parts.scheme != "file":
        vcs = source.get("vcs_info")
        kind = f"{vcs['vcs']}+" if isinstance(vcs, dict) and "vcs" in vcs else ""
        return f"pip install '{PROJECT}[{extra}] @ {kind}{url}'"
    folder = Path(unquote(parts.path))
    if extra in _IN_THE_CLONE:
        return f"pip install {quote(str(folder))} {quote(str(folder / _IN_THE_CLONE[extra]))}"
    info = source.get("dir_info")
    editable = "-e " if isinstance(info, dict) and info.get("editable") else ""
    return f"pip install {editable}{quote(f'{folder}[{extra}]')}"


def _origin() -> str:
    try:
        return distribution(PROJECT).read_text("direct_url.json") or ""
    except (PackageNotFoundError, OSError):
        return ""


def _read(origin: str) -> dict[str, object]:
    try:
        found: object = json.loads(origin)
    except ValueError:
        return {}
    return {f"{key}": value for key, value in found.items()} if isinstance(found, dict) else {}
