"""The program that stands in for a CLI: its command, its models, and what it is told to do."""

import json
import sys
from pathlib import Path

FAKE = Path(__file__).parents[3] / "tests" / "support" / "fake_agent.py"
TAKING = ("claude", "codex", "opencode", "qwen")
MODELS = {"claude": "anthropic/m", "codex": "openai/m", "opencode": "fake/m", "qwen": "openai/m"}


def command_of(cli: str) -> tuple[str, ...]:
    return (sys.executable, "-IS", str(FAKE), cli)


def does(act: str, *argument: object) -> str:
    return f"{act} {json.dumps(argument)}"
