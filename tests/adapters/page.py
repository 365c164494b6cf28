"""`python page.py DOOR NAME`: run an example of `examples/frameworks`, on the model of a door."""

import os
import runpy
import sys
from pathlib import Path

import anyio
from door_contract import loaded

EXAMPLES = Path(__file__).parents[2] / "examples" / "frameworks"
TASK = {"op": "start", "subagent_type": "finder", "description": "Login", "prompt": "How does login work?"}
ASKED = {"deep_agent": {"description": TASK["prompt"], "subagent_type": "finder"}}


def scripted(door, name):
    arguments = ASKED.get(name, TASK)
    kind = loaded(door).Scripted
    return (
        kind(call={"name": "task", "args": arguments, "id": "c1"}) if door == "langchain" else kind("task", arguments)
    )


def main(door, name):
    example = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    model = scripted(door, name)
    if door == "claude_sdk":
        with model.serving() as env:
            os.environ.update(env)
            anyio.run(example["main"])
    else:
        anyio.run(example["main"], model)


main(*sys.argv[1:])
