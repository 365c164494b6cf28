"""A real terminal: tmux, with a server of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from screen import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Asked = Callable[..., str]

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@contextmanager
def tmux(place, command: list[str], columns: int) -> Iterator[Asked]:
    """A terminal of 24 lines with a command in it; yields what talks to its server."""

    def asked(*arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(place.root / "tmux"), "-f", "/dev/null", *arguments],
            env=place.env,
            cwd=place.project,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    asked("new-session", "-d", "-x", f"{columns}", "-y", "24", *command)
    try:
        yield asked
    finally:
        with suppress(subprocess.CalledProcessError):  # it ends with its last command
            asked("kill-server")


def shown(asked: Asked) -> str:
    """Return what is on the screen, whatever the time is, and however wide the column of titles."""
    text = "\n".join(line.rstrip() for line in asked("capture-pane", "-p").splitlines()).strip("\n")
    still = re.sub(r"\d+s\b", "0s", re.sub("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠋", text))
    still = re.sub(r" +· +0s", " · 0s", still)
    return re.sub(r" \S*… · 0s", " … · 0s", still)  # the time takes room from the title


def wait_for_screen(asked: Asked, wanted: str) -> None:
    """Wait until just this is on the screen: the next frame has it, or a later one."""
    latest = time.monotonic() + PATIENCE_S
    while (screen := shown(asked)) != wanted:
        assert time.monotonic() < latest, screen
