"""A start with something of everything that the page of `ohm ui` shows, here or in a process of its own.

`python ui_scene.py <folder of the registry>` starts it, says the ids of its tasks, and goes on until it is ended.

    with scene_in_a_process(folder) as (ids, process):
        ...they run: ids has `lead`, `reader`, `asker`, `sleeper` and `failing`...
"""

import json
import sys
from contextlib import asynccontextmanager, contextmanager
from decimal import Decimal
from functools import partial

import anyio
from acting import ActingBackend
from forking import forked

from ohm_subagents import Ohm
from ohm_subagents.contract import (
    Err,
    ErrorCode,
    OhmError,
    RouteResolved,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)
from ohm_subagents.testing import HERMETIC

CONFIG = {
    "subagentBackend": "acting",
    "subagents": {
        "task": {"tools": {"ask": ["edit"]}},
        "budget": {"depth": 3, "requests": 50},
        "sendToFinished": "resume",
        "taskMaxEntries": 20_000,
    },
}
CHILDREN = {"reader": "finder", "asker": "task", "sleeper": "oracle", "failing": "finder"}
ANSWER = """## Where output is cut

It is cut in **`_views/answer.py`**, at a character that a reader can see:

```python
def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else truncate(text, limit).text  # never half a character
```

| file | line |
|:-----|-----:|
| answer.py | 41 |

See [the guide](https://example.org/guide).
"""
EDIT = {"path": "src/app.py", "oldText": "limit = 10\nreturn limit", "newText": "limit = 20\nreturn limit"}


class Scene:
    """`act` is what the subagents do, by the first word of their prompts."""

    def __init__(self):
        self.ohm = None

    async def act(self, request, sink):
        word = request.prompt.split()[0]
        sink.emit(RouteResolved(provider="openai", model="gpt-5-mini"))
        act = getattr(self, f"_{word}", None)
        return f"You said: {request.prompt}" if act is None else await act(request, sink)

    async def _lead(self, _request, sink):
        sink.emit(ThinkingDelta(text="Four parts, at the same time."))
        sink.emit(UsageAdded(usage=Usage(requests=1, input_tokens=900, output_tokens=60, cost_usd=Decimal("0.0021"))))
        async with anyio.create_task_group() as group:
            for word, profile in CHILDREN.items():
                options = {"description": f"The {word} of the batch"}
                group.start_soon(partial(self.ohm.run, profile, f"{word} of the batch", **options))
        return "All parts are **done**."

    async def _reader(self, request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=1, input_tokens=1200, output_tokens=80, cost_usd=Decimal("0.0031"))))
        path = f"{request.cwd}/src/answer.py"
        calls = [("read", {"path": path, "offset": 1, "limit": 40}), ("grep", {"pattern": "cut", "path": "src"})]
        for number, (tool, arguments) in enumerate(calls):
            sink.emit(ToolStarted(call_id=f"c{number}", tool=tool, args=json.dumps(arguments)))
            sink.emit(ToolEnded(call_id=f"c{number}", tool=tool, status="success", text="def cut(text):\n    ..."))
        for line in ANSWER.splitlines(keepends=True):
            sink.emit(TextDelta(text=line))
        return ANSWER

    async def _asker(self, request, sink):
        sink.emit(ToolStarted(call_id="e", tool="edit", args=json.dumps(EDIT)))
        refusal = await request.gate.tool("edit", EDIT, call_id="e")
        sink.emit(ToolEnded(call_id="e", tool="edit", status="error" if refusal else "success", text=refusal or "done"))
        return refusal or "The limit is 20 now."

    async def _sleeper(self, _request, sink):
        sink.emit(TextDelta(text="I look at the long way round"))
        sink.emit(ToolStarted(call_id="s", tool="bash", args=json.dumps({"command": "make slow"})))
        await anyio.sleep_forever()

    async def _failing(self, _request, sink):
        sink.emit(ToolStarted(call_id="f", tool="bash", args=json.dumps({"command": "make broken"})))
        sink.emit(ToolEnded(call_id="f", tool="bash", status="error", text="make: *** No rule to make 'broken'."))
        return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message="The model gave up.", advice="Ask again."))


@asynccontextmanager
async def opened(folder, act=None, **options):
    """An `Ohm` whose subagents play the scene, or do what `act` says, and whose tasks are kept in a folder."""
    scene = Scene()
    env = HERMETIC | {"PI_CONFIG_DIR": f"{folder}", "HOME": f"{folder}", "OHM_SUBAGENTS_STORE": "sqlite"}
    options = {"cwd": folder, "config": CONFIG, "env": env, **options}
    async with Ohm.open(plugins=[ActingBackend(act or scene.act)], **options) as scene.ohm:
        yield scene.ohm


async def play(ohm):
    """Start it; return the ids of its tasks once each has come to its end, or as far as it comes by itself."""
    handle = await ohm.start("task", "lead the batch", description="Find out how answers are cut")
    ids = {"lead": handle.id}
    while len(ids) < 5 or not ohm.requests() or not _is_ready(ohm, ids):
        await anyio.sleep(0.01)
        for task in ohm.store.recent():
            ids |= {word: task.id for word in CHILDREN if task.assignment.prompt.startswith(word)}
    await ohm.store.flush()
    return ids


def _is_ready(ohm, ids):
    ended, open_calls = (ids["reader"], ids["failing"]), ohm.task(ids["sleeper"]).activity.open_calls
    return all(ohm.task(task_id).is_terminal for task_id in ended) and bool(open_calls)


@contextmanager
def scene_in_a_process(folder):
    with forked(__file__, f"{folder}") as process:
        yield json.loads(process.stdout.readline()), process


async def main(folder):
    async with opened(folder) as ohm:
        sys.stdout.write(json.dumps(await play(ohm)) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
