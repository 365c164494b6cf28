"""Scenes between a submitter and a runner, which each release can play and record with every frame of both.

Run it with the code of a release to record that release. The first one with remote runs was recorded so:

    git worktree add --detach OLD ee331f38
    PYTHONPATH=OLD/src:OLD/tests/support python tests/support/wire_scenes.py tests/remote/first_release.jsonl
"""

import json
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from remote_backends import HASTY, RECITAL, Recital

from ohm_subagents.plugin import Exchange, Grant, Ok, Options, RunOutput
from ohm_subagents.remote import LoopbackTransport, open_remote, open_runner
from ohm_subagents.testing import Scenarios
from ohm_subagents.testing.kept_feed import KeptFeed
from ohm_subagents.testing.scenarios import note_tool, request_for
from ohm_subagents.testing.trial import Recorder

VERSIONS = (1, 2)
SCENES = ("where", "say elderberry", "tools", "fail", "note", "run", "recall", "hang", "left", "attached")
"""Prompts of `STAGE`, the last two of one run: `left` by one submitter, and `attached` to by the next one."""


class Stage(Recital):
    """A recital that can also tell what its runs are given."""

    async def run(self, request, sink):
        if request.prompt != "where":
            return await super().run(request, sink)
        given = (request.task_id, request.session_id, request.cwd, request.description, request.instructions)
        return Ok(RunOutput(text=", ".join(map(str, (*given, request.profile.summary, request.mode, request.depth)))))


@asynccontextmanager
async def _staged(_options):
    yield Stage()


STAGE = replace(RECITAL, open=_staged)


class SceneGate:
    """Grants each model request, unless it holds them up, and refuses each call of a tool."""

    def __init__(self, *, holds):
        self.asked = anyio.Event()
        self.holds = holds

    @asynccontextmanager
    async def request(self, _need):
        self.asked.set()
        if self.holds:
            await anyio.sleep_forever()
        yield Ok(Grant(max_output_tokens=9, is_last=True))

    async def tool(self, _name, _arguments, **_more):
        return "Not now."

    def unpriced(self, _need):
        return None


class Heard(Recorder):
    """Remembers, and says when there was an event."""

    def __init__(self):
        super().__init__()
        self.said = anyio.Event()

    def emit(self, event):
        super().emit(event)
        if event.kind == "text_delta":
            self.said.set()


async def play(backend, scene):
    """Play a scene; return what was heard, and the result, which is None for a submitter that did not wait for it."""
    gate, heard, results = SceneGate(holds=scene == "left"), Heard(), []
    request = request_for(scene, Scenarios(cwd=Path("/usr")))
    request = replace(request, gate=gate, spec=replace(request.spec, child_tools=(note_tool([]),)))
    if scene == "recall":
        request = replace(request, history=(Exchange(prompt="say elderberry", output="So."),), checkpoint="the end")
    if scene in {"left", "attached"}:
        request = replace(request, prompt="say", feed=KeptFeed("kept"))
    begun = backend.attach if scene == "attached" else backend.run

    async def run():
        results.append(await begun(request, heard))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        stops = {"hang": heard.said, "left": gate.asked}.get(scene)
        if stops is not None:
            await stops.wait()
            group.cancel_scope.cancel()
    return heard, next(iter(results), None)


class Recording(LoopbackTransport):
    """Keeps each call with its answer, of a runner that speaks one version."""

    def __init__(self, runner, version):
        super().__init__(runner)
        self.version, self.calls = version, []

    async def hello(self):
        self.greeting = {**await super().hello(), "versions": [self.version]}
        return self.greeting

    async def post(self, frame):
        answer = await super().post(frame)
        self.calls.append({"call": "post", "frame": frame, "answer": answer})
        return answer

    async def feed(self, frame):
        answer = await super().feed(frame)
        self.calls.append({"call": "feed", "frame": frame, "answer": answer})
        return answer


async def recorded(version):
    """Play all scenes at one runner, and return what both sides said."""
    told = []
    async with open_runner(STAGE, Options()) as runner:
        for scene in SCENES:
            transport = Recording(runner, version)
            async with open_remote(transport, patience=HASTY) as backend:
                await play(backend, scene)
            told.append({"version": version, "scene": scene, "hello": transport.greeting, "calls": transport.calls})
    return told


if __name__ == "__main__":
    scenes = [scene for version in VERSIONS for scene in anyio.run(recorded, version)]
    lines = [json.dumps(scene, ensure_ascii=False) + "\n" for scene in scenes]
    Path(sys.argv[1]).write_text("".join(lines), encoding="utf-8")
