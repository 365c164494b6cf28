"""The recorded cases with the backend `ray`: what was recorded holds where each run is at a runner of a pool."""

from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from golden_backend import RecordedBackend
from golden_calls import check
from golden_children import ScriptedChildren
from golden_player import Player, play
from golden_quirks import is_of_sends, skip_reason
from golden_recording import recording
from golden_sends import SendPlayer
from golden_suites import chosen, suite_file
from pooled_runners import PooledRunners

from ohm_ray.backend import open_pool
from ohm_ray.options import RayOptions
from ohm_subagents.plugin import Capability

pytestmark = pytest.mark.anyio
QUICK = 30
"""Each case of so many is not slow."""
OVER = {"A-LOOP-06", "A-LOOP-07"}
"""Children that have said all and are over before a runner hears that they shall stop."""
IN_ORDER = {
    "batch/parallel-bound-invalid-falls-to-3",
    "batch/parallel-bound-larger-than-the-batch",
    "batch/parallel-finishing-out-of-order-keeps-input-order",
    "lifecycle/fifty-starts-then-status-of-all",
    "lifecycle/parallel-batch-with-a-cancel-a-failure-and-a-rejection",
}
"""Left out: their script answers runs in the order in which they begin, and those of one moment begin in any order."""
TASKS = [case for case in recording().cases if case["id"] not in IN_ORDER and case["backend"].get("type") != "pi"]


def in_part(cases, name):
    return [pytest.param(one, id=name(one), marks=[pytest.mark.slow][: at % QUICK]) for at, one in enumerate(cases)]


class Pools:
    """The pools that the doubles of a case were opened at. `played` are their runs, by the id of the task."""

    def __init__(self):
        self.played = Counter()
        self._opened = []

    def at_runners(self, opened):
        """Open a double at the runners of a pool."""

        @asynccontextmanager
        async def open_there(double, options):
            async with opened(double, options) as backend, anyio.create_task_group() as group:
                runners = PooledRunners(group, backend, frozenset(Capability))
                self._opened.append(runners)
                async with open_pool(runners, RayOptions()) as pool:
                    yield pool
                group.cancel_scope.cancel()

        return open_there

    def counted(self, run):
        """Count each run that a double plays, whoever asks for it."""

        async def run_counted(double, request, sink):
            self.played[request.task_id] += 1
            return await run(double, request, sink)

        return run_counted

    def check(self):
        """Fail if a run was played that no runner of a pool was sent."""
        assert not self.played - sum((runners.begun for runners in self._opened), Counter())


@pytest.fixture
def pools(monkeypatch):
    pools = Pools()
    for double in (RecordedBackend, ScriptedChildren):
        monkeypatch.setattr(double, "_open", pools.at_runners(double._open))
        monkeypatch.setattr(double, "run", pools.counted(double.run))
    return pools


@pytest.mark.parametrize("case", in_part(TASKS, lambda case: case["id"]))
async def test_recorded_case_of_the_task_tool(case, pools):
    reason = skip_reason(case)
    if reason is not None:
        pytest.skip(reason)
    differences = await play(case, SendPlayer if is_of_sends(case) else Player)
    pools.check()
    if differences:
        pytest.fail("\n".join(differences), pytrace=False)


SUITES = [case for case in chosen(suite_file()) if case.suite in {"delegate", "sticky"}]


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", in_part(SUITES, lambda case: f"{case.suite}/{case.id}"))
async def test_suites_case(case, tmp_path, pools):
    if case.id in OVER:
        case = replace(case, expect={key: value for key, value in case.expect.items() if key != "signals_names"})
    await check(case, tmp_path)
    pools.check()
