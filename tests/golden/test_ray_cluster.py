"""A part of the recorded cases on a real Ray cluster: their doubles are played here, for runs that a runner there has.

Of the cases in which nothing depends on time, which is real on a cluster.
"""

import json
from collections import Counter
from contextlib import asynccontextmanager, nullcontext

import anyio
import golden_world
import pytest
from golden_backend import RecordedBackend
from golden_calls import play as played_suite
from golden_children import ScriptedChildren
from golden_player import Player, play
from golden_quirks import is_of_sends, skip_reason
from golden_recording import recording
from golden_suites import chosen, suite_file
from relay import Relay

from ohm_ray.opening import opened
from ohm_ray.options import RayOptions

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]
EACH_S = 60
WAITS = ("delay_ms", "defer")
LATER = ("hang", "_at", "sigterm", "noise", "raw_", "abort")
IN_TIME = {"A-LOOP-06", "A-LOOP-07", "A-OUT-07"}
"""Left out: they stop a child before it has said all, which is over before its runner hears of that."""


def is_plain(case):
    """Check that a case of the task tool makes calls one after the other, each of which waits for its runs."""
    if case["backend"].get("type") == "pi" or case.get("peak_concurrency") != 1 or is_of_sends(case):
        return False
    if skip_reason(case) is not None or any(word in json.dumps(case["backend"]) for word in WAITS):
        return False
    return all(waits_for_all(step) for step in case["steps"])


def waits_for_all(step):
    payload = step.get("payload")
    if step["do"] not in {"call", "primary"} or {"updates", "callback", "signal"} & {*step}:
        return False
    return isinstance(payload, dict) and payload.get("op") in {None, "start", "status"} and not payload.get("async")


def is_plain_suite(case):
    """Check that a case of a suite calls one tool, whose children end when they have said all."""
    if case.why_skipped or case.id in IN_TIME or not {*case.call} <= {"tool", "args"}:
        return False
    return not any(word in json.dumps([case.setup, case.call]) for word in LATER)


def of_suite(name):
    return [case for case in chosen(suite_file()) if case.suite == name and is_plain_suite(case)]


TASKS = [case for case in recording().cases if is_plain(case)][::3]
SUITES = [*of_suite("delegate")[::2], *of_suite("sticky")]


@pytest.fixture
def anyio_backend():
    """Ray runs on asyncio alone."""
    return "asyncio"


class RealPlayer(Player):
    """Lets a call take as long as it takes."""

    def _check_elapsed(self, recorded, ours):
        pass


@asynccontextmanager
async def at_runner(cluster, monkeypatch, pool):
    """Open the doubles of all cases at one runner of a cluster; gives the runs that came from there, by task."""
    hosted, path = Counter(), f"{cluster.directory / pool}"
    options = RayOptions(address=cluster.address, pool=pool, run="relayed", run_options={"path": path})
    relay = Relay(hosted)
    async with anyio.create_task_group() as group:
        await group.start(relay.serve, path)
        async with opened(options, cluster.env, ()) as joined:

            def there(opened_here):
                @asynccontextmanager
                async def open_there(double, given):
                    async with opened_here(double, given) as relay.backend:
                        yield joined.unwrap()

                return open_there

            for double in (RecordedBackend, ScriptedChildren):
                monkeypatch.setattr(double, "_open", there(double._open))
            yield hosted
        group.cancel_scope.cancel()


async def test_recorded_cases_of_the_task_tool(ray_cluster, monkeypatch):
    async with at_runner(ray_cluster, monkeypatch, "tasks") as hosted:
        for case in TASKS:
            hosted.clear()
            with anyio.fail_after(EACH_S):
                assert await play(case, RealPlayer) == [], case["id"]
            assert hosted.total() == len(case["backend_calls"]), case["id"]


async def test_recorded_cases_of_the_suites(ray_cluster, monkeypatch, tmp_path):
    monkeypatch.setattr(golden_world, "passing_time", nullcontext)
    async with at_runner(ray_cluster, monkeypatch, "suites") as hosted:
        played = []
        for case in SUITES:
            hosted.clear()
            place = tmp_path / f"{case.suite}-{case.id}"
            place.mkdir()
            with anyio.fail_after(EACH_S):
                assert await played_suite(case, place) == [], case.id
            played += [case.suite] * (hosted.total() > 0)
    assert {*played} == {"delegate", "sticky"}
    assert len(played) >= len(SUITES) // 3
