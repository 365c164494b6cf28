"""The capacity model keeps its promises: a fleet of real decisions in virtual time, beside the formulas of the guide.

After a wanted change run `PYTHONPATH=tests/support:tests/docs python tests/remote/test_capacity.py`, which takes a
minute, then `PYTHONPATH=tests/support python tests/docs/tables.py`, and review the difference.
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
    "at random": Plan(tasks=500_000, submitters=100, every_s=3.75),
    "at once": Plan(tasks=500_000, submitters=100, max_running=40, tight=10),
}
SMALL = [name for name in PLANS if name.endswith("small")]
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


async def played(name):
    """Let a fleet do what there is to do, and say what came of it; each broken law raises on the way."""
    plan = PLANS[name]
    fleet = Fleet(plan).run()
    assert sum(fleet.ended) == plan.tasks
    return {
        "tasks": plan.tasks,
        "runners": plan.runners,
        "submitters": plan.submitters,
        "hours": round(fleet.now / 3600, 1),
        **{what: fleet.count[what] for what in COUNTED},
        "wait_p99_s": round(fleet.wait_p99_s(), 1),
        "predicted_s": round(predicted_s(plan), 1),
    }


async def check(name):
    result = await played(name)
    assert result == json.loads(RECORDED.read_text())[name]
    assert result["wait_p99_s"] == pytest.approx(result["predicted_s"], rel=0.2)
    assert result["runner_lost"] <= 0.01 * result["tasks"]
    assert result["succeeded"] + result["budget_exceeded"] + result["runner_lost"] == result["tasks"]


@pytest.mark.parametrize("name", SMALL)
def test_a_fleet_waits_as_long_as_the_formulas_say_and_loses_nothing(name):
    anyio.run(check, name)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name in PLANS if name not in SMALL])
def test_a_thousand_runners_and_a_million_tasks_do_too(name):
    anyio.run(check, name)


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({name: anyio.run(played, name) for name in PLANS}, indent=2) + "\n")
