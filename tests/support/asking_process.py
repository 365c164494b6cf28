"""A process whose subagent edits files that a rule asks about; it may be killed at any time.

`python asking_process.py <directory> <paths> <levels> [<url>]` starts a task for each part of `a,b/c,d` and says the
ids of the requests. What was edited is a line in `<directory>/edited`, whichever process did it. Tasks are kept in the
directory, or in the database of the URL.
"""

import json
import sys
from functools import partial
from pathlib import Path

import anyio
from acting import ActingBackend

import ohm_postgres
from ohm_subagents import Ohm
from ohm_subagents.contract import Checkpointed, Usage, UsageAdded

CONFIG = {
    "subagentBackend": "acting",
    "subagents": {"task": {"tools": {"ask": ["edit"]}}, "budget": {"depth": 3, "requests": 500}},
}


class EditingModel:
    """Edits each path once, as far as its conversation shows, so many `levels` below the task that is started."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ohm = None

    async def act(self, request, sink):
        conversation = json.loads(request.checkpoint) if request.checkpoint else json.loads(request.prompt)
        if conversation["levels"] > 1:
            below = {**conversation, "levels": conversation["levels"] - 1}
            return (await self.ohm.run("task", json.dumps(below))).unwrap().output
        for path in conversation["paths"]:
            if path in conversation["told"]:
                continue
            sink.emit(UsageAdded(usage=Usage(requests=1)))
            keep = partial(sink.emit, Checkpointed(state=json.dumps(conversation)))
            refusal = await request.gate.tool("edit", {"path": path}, call_id=path, on_wait=keep)
            if refusal is None:
                with (self.directory / "edited").open("a") as file:
                    file.write(f"{path}\n")
            conversation["told"][path] = refusal or "edited"
            sink.emit(Checkpointed(state=json.dumps(conversation)))
        return json.dumps(conversation["told"])


def opened(
    directory: Path, model: EditingModel, store_id: str = "sqlite", requests=None, url="", plugins=(), **options
):
    """An `Ohm` whose tasks are kept in the directory, or in the database of the URL."""
    store_id = "postgres" if url else store_id
    config = {**CONFIG, "subagents": {**CONFIG["subagents"], "store": store_id, "requests": requests or {}}}
    env = {"PI_CONFIG_DIR": str(directory), "HOME": str(directory), "OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
    env["OHM_POSTGRES_URL"] = url
    options = {"cwd": directory, **options}
    return Ohm.open(env=env, config=config, plugins=[ActingBackend(model.act), ohm_postgres, *plugins], **options)


def prompt(paths: str, levels: int) -> str:
    return json.dumps({"paths": paths.split(","), "levels": levels, "told": {}})


async def main(directory: Path, batches: str, levels: int, url: str = "") -> None:
    model = EditingModel(directory)
    async with opened(directory, model, url=url) as model.ohm:
        batch = batches.split("/")
        for paths in batch:
            await model.ohm.start("task", prompt(paths, levels))
        while len(model.ohm.requests()) < len(batch):  # noqa: ASYNC110  a test has no better news of it
            await anyio.sleep(0.02)
        await model.ohm.store.flush()
        sys.stdout.write(json.dumps([one.id for one in model.ohm.requests()]) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(partial(main, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
