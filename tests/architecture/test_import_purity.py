"""The cost and the effects of importing each door, in a fresh interpreter.

One process imports them one after another: what a door loads or does is told with the first door that loads it, and no
module needs one that another door has loaded, since no import goes in a circle.
"""

import json
import os
import subprocess
import sys
from functools import cache

import public_doors
import pytest

HEAVY = {
    "pydantic_ai",
    "openai",
    "anthropic",
    "google.genai",
    "httpx",
    "httpx2",
    "tiktoken",
    "xllamacpp",
    "llama_cpp",
    "rich",
    "typer",
    "yaml",
    "wcwidth",
    "pytest",
    "structlog",
    "sqlite3",
    "asyncio",
    "trio",
}
PROBE = """
import json, sys

effects = []

def watch(event, args):
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        effects.append(f"open {args[0]} {args[1]}")
    elif event in {"os.mkdir", "os.putenv", "os.remove", "os.rename", "subprocess.Popen", "os.fork", "os.system",
                   "_thread.start_new_thread", "_thread.start_joinable_thread", "signal.signal", "urllib.Request"}:
        effects.append(event)
    elif event.startswith("socket.") and event != "socket.gethostname":
        effects.append(event)

sys.addaudithook(watch)
seen = {}
for door in sys.argv[1:]:
    before = set(sys.modules)
    effects.clear()
    __import__(door)
    logging = sys.modules.get("logging")
    seen[door] = {"modules": sorted(set(sys.modules) - before), "effects": [*effects],
                  "handlers": [type(h).__name__ for h in logging.getLogger().handlers] if logging else []}
print(json.dumps(seen))
"""
DOORS = sorted({*public_doors.DOORS} - {"ohm_subagents.shell", "ohm_subagents.testing"})


@cache
def probe(*doors: str) -> dict[str, dict[str, list[str]]]:
    command = [sys.executable, "-B", "-c", PROBE, *doors]
    finished = subprocess.run(command, env=dict(os.environ), check=True, capture_output=True, text=True)
    return json.loads(finished.stdout)


@pytest.mark.parametrize("door", DOORS)
def test_importing_a_door_loads_nothing_heavy(door: str) -> None:
    assert HEAVY & {*probe(*DOORS)[door]["modules"]} == set()


@pytest.mark.parametrize("door", DOORS)
def test_importing_a_door_writes_nothing_connects_nowhere_and_starts_nothing(door: str) -> None:
    seen = probe(*DOORS)[door]
    assert seen["effects"] == []
    assert seen["handlers"] == []


def test_what_a_later_door_loads_or_does_is_seen(tmp_path, monkeypatch) -> None:
    (tmp_path / "loud_door.py").write_text("import logging, sqlite3\nopen('made', 'w')\nlogging.basicConfig()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    seen = probe("ohm_subagents", "loud_door")
    assert seen["ohm_subagents"]["effects"] == []
    assert "sqlite3" in seen["loud_door"]["modules"]
    assert seen["loud_door"]["effects"] == ["open made w"]
    assert seen["loud_door"]["handlers"] == ["StreamHandler"]
