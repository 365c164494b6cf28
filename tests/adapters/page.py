"""`python page.py DOOR HEADING`: run the example below a heading of the guide, on the model of a door."""

import os
import re
import sys
from pathlib import Path

import anyio
from door_contract import loaded

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "frameworks.md"
TASK = {"op": "start", "subagent_type": "finder", "description": "Login", "prompt": "How does login work?"}
ASKED = {"deepagents": {"description": TASK["prompt"], "subagent_type": "finder"}}


def scripted(door, heading):
    arguments = ASKED.get(heading, TASK)
    kind = loaded(door).Scripted
    return (
        kind(call={"name": "task", "args": arguments, "id": "c1"}) if door == "langchain" else kind("task", arguments)
    )


def main(door, heading):
    section = GUIDE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1]
    example = {"__name__": "example"}
    exec(re.search(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[1], example)
    model = scripted(door, heading)
    if door == "claude_sdk":
        with model.serving() as env:
            os.environ.update(env)
            anyio.run(example["main"])
    else:
        anyio.run(example["main"], model)


main(*sys.argv[1:])
