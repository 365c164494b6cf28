"""The runner with the fewest runs gets the next one; a lost one gets a rest; a pool grows at once and shrinks late."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents.remote import RunnerLoad, Scaling, opens_at, placed, retry_wait_s, wanted_runners


def loads(*running):
    return [RunnerLoad(running=one) for one in running]


@pytest.mark.parametrize(
    ("runners", "expected"),
    [
        ([], None),
        (loads(2, 1, 0), 2),
        (loads(1, 1, 2), 0),
        (loads(3, 3), None),
        ([RunnerLoad(open_at=10.5), *loads(2)], 1),
        ([RunnerLoad(open_at=10.5), *loads(3)], None),
        ([RunnerLoad(open_at=10.0), *loads(2)], 0),
    ],
)
def test_the_runner_with_the_fewest_runs_gets_the_next_one(runners, expected):
    assert placed(runners, runs_per_runner=3, now=10.0) == expected


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(1, 5))
def test_places_are_given_out_evenly_and_to_the_last_one(running, limit):
    runners = loads(*(min(one, limit) for one in running))
    while (index := placed(runners, runs_per_runner=limit, now=0)) is not None:
        assert runners[index].running == min(one.running for one in runners)
        runners[index] = runners[index].begun()
    assert {one.running for one in runners} == {limit}
    assert opens_at(runners, runs_per_runner=limit) == math.inf


def test_a_runner_that_is_lost_again_and_again_is_given_a_longer_rest_each_time():
    load, rests = RunnerLoad(running=3), []
    for _ in range(8):
        load = load.lost(100.0)
        rests.append(load.open_at - 100)
    assert rests == [1, 2, 4, 8, 16, 32, 60, 60]
    assert load.running == 0
    assert opens_at([load, *loads(1)], runs_per_runner=1) == 160
    assert load.begun().ended().lost(200.0).open_at == 201


def test_a_run_goes_on_at_once_after_its_first_loss_and_waits_after_the_others():
    waits = [retry_wait_s(losses=losses, retries=7, jitter=1.0) for losses in range(1, 9)]
    assert waits == [0, 1, 2, 4, 8, 16, 30, None]
    assert retry_wait_s(losses=3, retries=3, jitter=0.25) == 0.5
    assert retry_wait_s(losses=1, retries=0, jitter=1.0) is None


@pytest.mark.parametrize(
    ("runners", "runs", "quiet_s", "expected"),
    [
        (1, 0, 0, 1),
        (1, 10, 0, 1),
        (1, 11, 0, 2),
        (2, 1000, 0, 8),
        (8, 11, 59, 8),
        (8, 11, 60, 2),
        (8, 0, 3600, 1),
        (9, 75, 0, 8),
        (0, 0, 0, 1),
    ],
)
def test_a_pool_grows_at_once_and_shrinks_when_it_was_too_large_for_long(runners, runs, quiet_s, expected):
    scaling = Scaling(max_runners=8, runs_per_runner=10)
    assert wanted_runners(scaling, runners=runners, runs=runs, quiet_s=quiet_s) == expected


@pytest.mark.parametrize("wrong", [{"min_runners": 2}, {"min_runners": -1}, {"runs_per_runner": 0}, {"idle_s": -1}])
def test_bounds_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="Scaling takes"):
        Scaling(**wrong)
