"""The capacity model keeps its promises: a fleet of real decisions in virtual time, beside the formulas of the guide.

After a wanted change run `PYTHONPATH=tests/support:tests/docs python tests/remote/test_capacity.py`, which takes three
minutes, then `PYTHONPATH=tests/support python tests/docs/tables.py`, and review the difference.
"""

import json
from pathlib import Path
from types import ModuleType

import anyio
import pytest
from fleet import Fleet, Plan
from pages import ROOT, block

PAGE = ROOT / "docs/guides/capacity.md"
RECORDED = Path(__file__).with_name("capacity.json")
PLANS = {
    "at random, small": Plan(tasks=10_000, submitters=4, every_s=3.75, seed=2),
    "at once, small": Plan(tasks=10_000, submitters=4, max_running=40, tight=4),
    "in a storm, small": Plan(tasks=6_000, submitters=4, max_running=40, runner_life_s=120.0, submitter_life_s=1000.0),
    "at random": Plan(tasks=1_000_000, submitters=100, every_s=3.75),
    "at once": Plan(tasks=1_000_000, submitters=100, max_running=40, tight=10),
}
SMALL = [name for name in PLANS if name.endswith("small")]
LARGE = [name for name in PLANS if name not in SMALL]
PART = 60_000
"""The tasks of a large fleet that the slow test lets end; what came of them is recorded beside what came of all."""
COUNTED = ("succeeded", "budget_exceeded", "runner_lost", "lost runs", "attached")


def formulas():
    module = ModuleType("capacity")
    exec(block(PAGE, "file", "capacity.py"), vars(module))
    return module


def predicted_s(plan):
    model = formulas()
    feed_s = plan.feed_s + plan.slow_feeds * (plan.slow_feed_s - plan.feed_s)
    takes_s = model.run_s(
        plan.request_s, plan.requests, feed_s=feed_s, runner_life_s=plan.runner_life_s, detect_s=plan.detect_s
    )
    takes_s /= model.up_share(plan.submitter_life_s, plan.submitter_down_s)
    if plan.every_s:
        return model.wait_p99_s(1 / plan.every_s, takes_s, plan.max_running)
    up = model.up_share(plan.runner_life_s, plan.runner_down_s)
    return model.burst_p99_s(plan.tasks / plan.submitters, takes_s / up, plan.max_running, start_s=plan.start_s)


def outcome(fleet):
    """The deeds of a fleet so far; each law that it breaks raises on the way."""
    return {
        "hours": round(fleet.now / 3600, 1),
        **{what: fleet.count[what] for what in COUNTED},
        "wait_p99_s": round(fleet.wait_p99_s(), 1),
    }


async def played(name):
    """Let a fleet do what there is to do, and say what came of it."""
    plan = PLANS[name]
    fleet = Fleet(plan)
    part = {"part": outcome(fleet.run(PART))} if name in LARGE else {}
    fleet.run()
    assert sum(fleet.ended) == plan.tasks
    made = {"tasks": plan.tasks, "runners": plan.runners, "submitters": plan.submitters}
    return {**made, **outcome(fleet), "predicted_s": round(predicted_s(plan), 1), **part}


def recorded(name):
    return json.loads(RECORDED.read_text())[name]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", SMALL)
def test_a_fleet_does_again_what_is_recorded_of_it(name):
    assert anyio.run(played, name) == recorded(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_thousand_runners_do_again_what_is_recorded_of_the_first_of_a_million_tasks(name):
    async def part():
        fleet = Fleet(PLANS[name]).run(PART)
        fleet.leave()
        return outcome(fleet)

    assert anyio.run(part) == recorded(name)["part"]


@pytest.mark.parametrize(("rate", "run_s", "slots"), [(0.0, 10.0, 5), (1.0, 10.0, 500), (2.0, 48.0, 1000)])
def test_nobody_waits_where_there_is_far_more_room_than_work(rate, run_s, slots):
    assert formulas().wait_p99_s(rate, run_s, slots) == 0


@pytest.mark.parametrize("name", PLANS)
def test_a_fleet_waits_as_long_as_the_formulas_say_and_loses_nothing(name):
    plan, told = PLANS[name], recorded(name)
    assert (told["tasks"], told["runners"], told["submitters"]) == (plan.tasks, plan.runners, plan.submitters)
    assert told["predicted_s"] == round(predicted_s(plan), 1)
    assert told["wait_p99_s"] == pytest.approx(told["predicted_s"], rel=0.2)
    assert told["runner_lost"] <= 0.01 * told["tasks"]
    assert told["lost runs"] > 0
    assert told["succeeded"] + told["budget_exceeded"] + told["runner_lost"] == told["tasks"]


def test_the_large_fleets_have_a_thousand_runners_and_a_million_tasks():
    assert {(PLANS[name].runners, PLANS[name].tasks) for name in LARGE} == {(1000, 1_000_000)}


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({name: anyio.run(played, name) for name in PLANS}, indent=2) + "\n")
