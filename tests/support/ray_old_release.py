"""Today's code where it speaks version 1 of the messages only: a runner on Ray, and a program that submits to one.

It shows that releases of two versions meet on a real cluster. What a release of then really wrote is recorded, and
played against both sides of today's code in `tests/remote/test_first_release.py`.
"""

import json
import sys

import anyio
import ray_submitter

from ohm_ray import actors, opening
from ohm_ray.actor import RunnerActor
from ohm_ray.runners import RunnerCalls

VERSION = 1


def checked(frame):
    """A frame, which an older release can read."""
    assert json.loads(frame)["version"] == VERSION
    return frame


def aged(hello):
    """A runner's introduction, as an older release writes and reads it."""
    return json.dumps({**json.loads(hello), "versions": [VERSION]}).encode()


class OldRunner(RunnerActor):
    """A runner that knows no newer messages."""

    async def hello(self):
        return aged(await super().hello())

    async def post(self, frame):
        return await super().post(checked(frame))

    async def feed(self, frame):
        return await super().feed(checked(frame))


class OldCalls(RunnerCalls):
    """The calls of a submitter that knows no newer messages."""

    def __init__(self, calls):
        self.calls = calls

    async def call(self, method, *frames):
        answer = await self.calls.call(method, *map(checked, frames))
        return aged(answer) if method == "hello" else answer


class OldActors(actors.Actors):
    async def find(self, number):
        return OldCalls(await super().find(number))


if __name__ == "__main__":
    opening.Actors = OldActors
    anyio.run(ray_submitter.main, *sys.argv[1:])
