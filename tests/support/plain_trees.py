"""Files in no repository for tests, and where they are kept."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from git_trees import write

from ohm_subagents.testing import HERMETIC

if TYPE_CHECKING:
    from pathlib import Path


def environment(directory: Path, *, has_git: bool) -> dict[str, str]:
    """The variables of a machine with git or without it, with a cache below a directory."""
    (directory / "bin").mkdir()
    path = os.environ["PATH"] if has_git else f"{directory / 'bin'}"
    return {**HERMETIC, "PATH": path, "XDG_CACHE_HOME": f"{directory / 'cache'}"}


def filled(directory: Path) -> Path:
    """A new directory with files and links of all kinds."""
    (directory / "folder" / "deep").mkdir(parents=True)
    write(directory, a="one\ntwo\n", b="two\n", run="#!/bin/sh\n", empty="", z="one\ntwo\n")
    (directory / "run").chmod(0o755)
    (directory / "empty too").touch()
    (directory / "folder" / "block").write_bytes(os.urandom(0xFFFF))
    (directory / "folder" / "deep" / "large").write_bytes(os.urandom(200_000))
    (directory / "folder" / os.fsdecode(b"\xff\n")).write_text("a name of any bytes\n")
    (directory / "link").symlink_to("folder/deep/large")
    (directory / "gone").symlink_to("nowhere")
    os.mkfifo(directory / "pipe")
    return directory


def files(directory: Path) -> dict[str, str | tuple[bytes, bool]]:
    """The files and links below a directory: what is in them, and whether they may be run."""
    paths = [one for one in directory.rglob("*") if ".git" not in one.parts and (one.is_symlink() or one.is_file())]
    return {
        f"{one.relative_to(directory)}": f"{one.readlink()}"
        if one.is_symlink()
        else (one.read_bytes(), bool(one.stat().st_mode & 0o100))
        for one in paths
    }
