"""The cost and the effects of `import ohm_subagents`, in a fresh interpreter."""

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

before = set(sys.modules)
sys.addaudithook(watch)
__import__(sys.argv[1])
effects = list(effects)
import os, logging
print(json.dumps({"modules": sorted(set(sys.modules) - before), "effects": effects,
                  "handlers": [type(h).__name__ for h in logging.getLogger().handlers]}))
"""
DOORS = sorted({*public_doors.DOORS} - {"ohm_subagents.shell", "ohm_subagents.testing"})


@cache
def probe(module: str) -> dict[str, list[str]]:
    finished = subprocess.run(
        [sys.executable, "-B", "-c", PROBE, module], env=dict(os.environ), check=True, capture_output=True, text=True
    )
    return json.loads(finished.stdout)


@pytest.mark.parametrize("door", DOORS)
def test_importing_a_door_loads_nothing_heavy(door: str) -> None:
    assert HEAVY & set(probe(door)["modules"]) == set()


@pytest.mark.parametrize("door", DOORS)
def test_importing_a_door_writes_nothing_connects_nowhere_and_starts_nothing(door: str) -> None:
    seen = probe(door)
    assert seen["effects"] == []
    assert seen["handlers"] == []
