"""The commands that add parts to this installation: a clone and an index need different ones."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import quote
from typing import Final
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ValidationError

PROJECT: Final = "ohm-subagents"
_IN_THE_CLONE: Final = {
    "cli": "plugins/ohm-backend-cli",
    "local": "plugins/ohm-local-model",
    "postgres": "plugins/ohm-postgres",
    "ray": "plugins/ohm-ray[ray]",
}
"""Extras that are distributions of their own, and their folders."""
_BRINGS: Final = {
    **dict.fromkeys(("claude", "codex", "gemini", "opencode", "qwen"), "cli"),
    "postgres": "postgres",
    "ray": "ray",
}
"""The extras that bring a backend or a store, by its id."""


def install_hint(name: str) -> str:
    """Write how the distribution of ours is installed that brings a backend or a store; empty if none does."""
    extra = _BRINGS.get(name)
    return "" if extra is None else f"Install it: {install_command(extra)}. "


def install_command(extra: str, origin: str | None = None) -> str:
    """Write the command that installs an extra where this installation came from: an index, a folder or a repository.

    `origin` is its `direct_url.json` (PEP 610); None looks it up.
    """
    source = _read(_origin() if origin is None else origin)
    if source.url is None:
        return f"pip install '{PROJECT}[{extra}]'"
    parts = urlsplit(source.url)
    if parts.scheme != "file":
        kind = f"{source.vcs_info.vcs}+" if source.vcs_info.vcs else ""
        return f"pip install '{PROJECT}[{extra}] @ {kind}{source.url}'"
    folder = Path(unquote(parts.path))
    if extra in _IN_THE_CLONE:
        return f"pip install {quote(str(folder))} {quote(str(folder / _IN_THE_CLONE[extra]))}"
    editable = "-e " if source.dir_info.editable else ""
    return f"pip install {editable}{quote(f'{folder}[{extra}]')}"


class _Repository(BaseModel):
    vcs: str = ""


class _Folder(BaseModel):
    editable: bool = False


class _Origin(BaseModel):
    url: str | None = None
    vcs_info: _Repository = _Repository()
    dir_info: _Folder = _Folder()


def _origin() -> str:
    try:
        return distribution(PROJECT).read_text("direct_url.json") or ""
    except (PackageNotFoundError, OSError):
        return ""


def _read(origin: str) -> _Origin:
    try:
        return _Origin.model_validate_json(origin)
    except ValidationError:
        return _Origin()
