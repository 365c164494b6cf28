"""A live display in a real terminal, tmux, while that is made narrower and wider again."""

from __future__ import annotations

import json

import pytest
from pi_desk import is_gone
from tmux import needs_tmux, tmux, wait_for_screen

pytestmark = [pytest.mark.slow, needs_tmux]
SCREENS = {
    120: """\
1 running · 1 succeeded · 0s · 2 tool calls
  ⠋ Delegate · Look for every place where login is checked, and tell who calls it · 0s · 1 tool
    ├── pause
    ├── ✓ read src/app.py · 12 lines
    ╰── So far: app.py
  ✓ Delegate · Read the callers of login · 0s · 1 tool · line one · line two
  q stop · ↑↓ choose ▸ · Enter open · s send · x cancel""",
    80: """\
1 running · 1 succeeded · 0s · 2 tool calls
  ⠋ Delegate · Look for every place where login is checked, and … · 0s · 1 tool
    ├── pause
    ├── ✓ read src/app.py · 12 lines
    ╰── So far: app.py
  ✓ Delegate · Read the callers of login · 0s · 1 tool · line one · line two
  q stop · ↑↓ choose ▸ · Enter open · s send · x cancel""",
    60: """\
1 running · 1 succeeded · 0s · 2 tool calls
  ⠋ Delegate · Look for every place where … · 0s · 1 tool
    ├── pause
    ├── ✓ read src/app.py · 12 lines
    ╰── So far: app.py
  ✓ Delegate · Read the callers of login · 0s · 1 tool
    ╰── line one · line two
  q stop · ↑↓ choose ▸ · Enter open · s send · x cancel""",
}


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
            wait_for_screen(asked, SCREENS[columns])
        pid = int(asked("display-message", "-p", "#{pane_pid}"))
        ohm.released.write_text("go")
        assert is_gone(pid, 60.0)


WIDE = "認証の仕組みを調べて、誰が呼ぶのかを教えてください"
OPENED = f"""\
  ⠋ Finder · {WIDE} · 0s · 1 tool
    ├── stay
    ├── ✓ read src/app.py · 12 lines
    ╰── So far: app.py
  q stop · Esc back · s send · x cancel"""


SUM = "16 running · 0s · 16 tool calls"
ROWS = [
    f"  ⠋ {title} · 0s · 1 tool · So far: app.py"
    for title in ("…", *(f"Read part {number}" for number in range(2, 17)))
]
KEYS = "  q stop · ↑↓ choose ▸ · Enter open · s send · x cancel"
SIXTEEN = "\n".join([SUM, *ROWS, KEYS])
EIGHT_OF_THEM = "\n".join([SUM, *ROWS[:8], "  … 8 more: 8 running", KEYS])


def test_sixteen_children_at_once_have_a_line_each_on_a_small_terminal(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage", "subagents": {"taskMaxConcurrency": 16}})
    titles = [WIDE, *(f"Read part {number}" for number in range(2, 17))]
    tasks = [{"subagent_type": "finder", "description": title, "prompt": "stay"} for title in titles]
    start = json.dumps({"op": "start", "parallel": True, "tasks": tasks})
    with tmux(ohm, ohm_process.command("call", "task", start), 80) as asked:
        for columns in (80, 60, 120, 80):
            asked("resize-window", "-x", f"{columns}")
            wait_for_screen(asked, SIXTEEN)
        asked("resize-window", "-y", "12")
        wait_for_screen(asked, EIGHT_OF_THEM)
        asked("send-keys", "Enter")
        wait_for_screen(asked, OPENED)
        pid = int(asked("display-message", "-p", "#{pane_pid}"))
        asked("send-keys", "q")
        assert is_gone(pid, 60.0)
