"""Both sides of today's code with the other side of the first release that had remote runs, in both versions.

`first_release.jsonl` is what that release wrote and answered, frame by frame: its code (commit ee331f38) played the
scenes of `wire_scenes` on both sides. It wrote version 1 because its runner was made to say that it knows no other.
Nothing of the file is ever written again by later code.
"""

import json
from pathlib import Path

import anyio
import pytest
from remote_backends import HASTY
from wire_samples import has_all_of
from wire_scenes import SCENES, STAGE, VERSIONS, play

from ohm_subagents.contract.wire import EventReported, Hello, dump, load_as
from ohm_subagents.plugin import Err, Ok, Options
from ohm_subagents.remote import LoopbackTransport, open_remote, open_runner

pytestmark = pytest.mark.anyio
RECORDED = [json.loads(line) for line in (Path(__file__).parent / "first_release.jsonl").read_text().splitlines()]


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


def of_version(version):
    return [scene for scene in RECORDED if scene["version"] == version]


def sent(scene):
    """The messages that the submitter sent in a scene."""
    return [one for call in scene["calls"] for one in call["frame"].get("messages", [])]


def reported(scene):
    """The reports that the runner made in a scene."""
    return [one for call in scene["calls"] for one in call["answer"].get("reports", [])]


def key_of(scene):
    """The key of the run of a scene."""
    return sent(scene)[0]["run_key"]


def test_every_scene_is_recorded_in_every_version():
    assert [(one["version"], one["scene"]) for one in RECORDED] == [(v, scene) for v in VERSIONS for scene in SCENES]
    assert all(one["version"] == scene["version"] for scene in RECORDED for one in [*sent(scene), *reported(scene)])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_submitter_of_the_first_release_hears_from_todays_runner_what_it_heard_then(version):
    async with open_runner(STAGE, Options()) as runner:
        here = {"incarnation": runner.incarnation}
        for scene in of_version(version):
            heard, due = [], 0
            for call in scene["calls"]:
                due += len(call["answer"].get("reports", []))
                if call["call"] == "post":
                    assert has_all_of(call["answer"] | here, await runner.post(call["frame"] | here))
                while len(heard) < due:
                    heard += (await runner.feed(call["frame"] | here | {"since": len(heard)}))["reports"]
            assert has_all_of(reported(scene), heard), scene["scene"]
        assert load_as(Hello, await runner.hello()).running == ()


class FirstRunner:
    """A runner of the first release: it answers as it did, once it has been told as much as then."""

    def __init__(self, scene):
        self.scene, self.messages, self.told = scene, [], anyio.Event()

    async def hello(self):
        return self.scene["hello"]

    async def post(self, frame):
        self.messages += frame["messages"]
        self.told.set()
        return {**self._header("receipt"), "taken": len(self.messages)}

    async def feed(self, frame):
        needed = 0
        for call in self.scene["calls"]:
            needed += len(call["frame"].get("messages", []))
            if call["call"] == "feed" and call["answer"]["first"] > frame["since"] and call["answer"]["reports"]:
                while len(self.messages) < needed:
                    self.told = anyio.Event()
                    await self.told.wait()
                return json.loads(json.dumps(call["answer"]).replace(key_of(self.scene), self.messages[0]["run_key"]))
        await anyio.sleep(frame["wait_s"])
        return {**self._header("feed"), "first": frame["since"] + 1}

    def _header(self, kind):
        return {key: self.scene["hello"][key] for key in ("version", "incarnation")} | {"kind": kind}


@pytest.mark.parametrize("scene", RECORDED, ids=lambda scene: f"{scene['scene']}-{scene['version']}")
async def test_todays_submitter_tells_a_runner_of_the_first_release_what_it_was_told_then(scene):
    runner = FirstRunner(scene)
    async with open_remote(LoopbackTransport(runner), patience=HASTY) as backend:
        heard, result = await play(backend, scene["scene"])
    told = json.loads(json.dumps(runner.messages).replace(runner.messages[0]["run_key"], key_of(scene)))
    assert has_all_of(sent(scene), told)
    events = [one["event"] for one in reported(scene) if one["kind"] == "event_reported"]
    assert has_all_of(events, [dump(EventReported(run_key="", n=1, event=one))["event"] for one in heard.events])
    ends = [one for one in reported(scene) if one["kind"] == "result_reported"]
    match result:
        case Ok(output):
            assert [output.text] == [end["text"] for end in ends]
        case Err(error):
            assert [(error.code, error.message)] == [(end["error"]["code"], end["error"]["message"]) for end in ends]
        case None:
            assert scene["scene"] in {"hang", "left"}


@pytest.mark.parametrize("version", VERSIONS)
async def test_todays_submitter_takes_up_a_run_that_one_of_the_first_release_began(version):
    (left,) = (scene for scene in of_version(version) if scene["scene"] == "left")
    async with open_runner(STAGE, Options()) as runner:
        await runner.post(left["calls"][0]["frame"] | {"incarnation": runner.incarnation})
        async with open_remote(LoopbackTransport(runner), patience=HASTY) as backend:
            _, result = await play(backend, "attached")
    assert result.unwrap().text == "It is done: say"
