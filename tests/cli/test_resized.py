"""A live display in a real terminal, tmux, while that is made narrower and wider again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from contextlib import contextmanager, suppress

import pytest
from pi_desk import is_gone

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]
SCREENS = {
    120: """\
1 running · 1 done · 0s · 2 tool calls
  ⠋ Delegate · Look for every place where login is checked, and tell who calls it · 0s · 1 tool
    ├── pause
    ├── ✓ read src/app.py · 12 lines
    ╰── So far: app.py
  ✓ Read the callers of login · 0s · 1 tool · line two
  q stop · ↑↓ choose · Enter open · s send""",
    80: """\
1 running · 1 done · 0s · 2 tool calls
  ⠋ Delegate · Look for every place where login is checked, and … · 0s · 1 tool
    ├── pause
    ├── ✓ read src/app.py · 12 lines
    ╰── So far: app.py
  ✓ Read the callers of login · 0s · 1 tool · line two
  q stop · ↑↓ choose · Enter open · s send""",
    60: """\
1 running · 1 done · 0s · 2 tool calls
  ⠋ Delegate · Look for every place where … · 0s · 1 tool
    ├── pause
    ├── ✓ read src/app.py · 12 lines
    ╰── So far: app.py
  ✓ Read the callers … · 0s · 1 tool · line two
  q stop · ↑↓ choose · Enter open · s send""",
}


@contextmanager
def tmux(place, command: list[str], columns: int):
    """A terminal with a command in it, of a server of its own; yields what talks to that server."""

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


def shown(asked) -> str:
    text = "\n".join(line.rstrip() for line in asked("capture-pane", "-p").splitlines()).strip("\n")
    still = re.sub(r"\d+s\b", "0s", re.sub("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠋", text))
    return re.sub(r" \S*… · 0s", " … · 0s", still)  # the time takes room from the title


def test_a_display_leaves_nothing_behind_when_the_terminal_is_resized(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage"})
    names = {
        "pause": "Look for every place where login is checked, and tell who calls it",
        "answer": "Read the callers of login",
    }
    tasks = [{"name": name, "prompt": prompt} for prompt, name in names.items()]
    (ohm.project / "tasks.json").write_text(json.dumps(tasks))
    with tmux(ohm, ohm_process.command("delegate", "tasks.json"), 120) as asked:
        ohm.reached.read_text()
        for columns in (120, 80, 60, 120):
            asked("resize-window", "-x", f"{columns}")
            seen: list[str] = []
            while (screen := shown(asked)) != SCREENS[columns]:  # the next frame has it, or one of the patience
                seen.append(screen)
                assert len(seen) < 1_000, screen
        pid = int(asked("display-message", "-p", "#{pane_pid}"))
        ohm.released.write_text("go")
        assert is_gone(pid, 60.0)
