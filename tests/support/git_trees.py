"""Repositories for tests, and what must be the same in them afterwards."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

TRAPS = """
[core]
	fsmonitor = touch {canary}
	hooksPath = {hooks}
	worktree = /
	alternateRefsCommand = touch {canary}
	sshCommand = touch {canary}
	pager = touch {canary}
	editor = touch {canary}
[filter "trap"]
	clean = touch {canary}; cat
	smudge = touch {canary}; cat
	required = true
[diff]
	external = touch {canary}
[diff "trap"]
	textconv = touch {canary}; cat
[hook "trap"]
	event = reference-transaction
	command = touch {canary}
[uploadpack]
	packObjectsHook = touch {canary}
[include]
	path = {more}
"""


def git(directory: Path, *arguments: str) -> str:
    """Return the output of git there, as its user."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": f"{directory}",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "tester@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["git", *arguments], cwd=directory, env=env, check=True, capture_output=True)
    return os.fsdecode(done.stdout).strip()


def repository(directory: Path, **files: str) -> Path:
    """A repository with one commit of these files; `_` in a name stands for a dot."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q", "-b", "main")
    write(directory, **files)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "--allow-empty", "-m", "first")
    return directory


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        (directory / name.replace("_", ".")).write_text(text)


def trapped(directory: Path, canary: Path) -> None:
    """Have the settings of a repository run a program wherever settings can."""
    hooks = directory / ".git" / "traps"
    hooks.mkdir()
    for name in ("reference-transaction", "post-index-change", "post-checkout", "pre-auto-gc", "post-commit"):
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
        hook.chmod(0o700)
    more = directory / ".git" / "more"
    more.write_text(f"[core]\n\tgitProxy = touch {canary}\n")
    with (directory / ".git" / "config").open("a") as config:
        config.write(TRAPS.format(canary=canary, hooks=hooks, more=more))
    (directory / ".gitattributes").write_text("* filter=trap diff=trap\n")


def fingerprint(directory: Path) -> dict[Path, tuple[int, int, str | bytes | None]]:
    """Every file with its bytes and times, less the objects and the references of tasks."""
    found: dict[Path, tuple[int, int, str | bytes | None]] = {}
    for folder, folders, files in os.walk(directory):
        inside = os.path.relpath(folder, directory)
        folders[:] = [one for one in folders if (inside, one) not in {(".git", "objects"), (".git/refs", "ohm")}]
        for path in (Path(folder, name) for name in files):
            text = f"{path.readlink()}" if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[path] = (path.lstat().st_mode, path.lstat().st_mtime_ns, text)
    return found


def copied(source: int, target: int) -> None:
    """Do what a file system does that shares blocks, on one that does not."""
    os.sendfile(target, source, 0, os.fstat(source).st_size)
