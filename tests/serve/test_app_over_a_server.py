"""The tests of handles, calls, options, deliveries and streams, of an `Ohm` whose tasks a server owns."""

import inspect
import sys
from importlib import import_module
from pathlib import Path

import anyio
import pytest
from loops import one_loop
from served_ohm import calm, quick_ohm_in

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
APP = Path(__file__).parents[1] / "app"
MODULES = ("test_handles", "test_calls", "test_call_options", "test_deliveries", "test_event_streams", "test_mailbox")
RECONFIGURED = "`reconfigure` is about the parts in the program"
NO_OHM = "the backend of a server has no `Ohm` of the program"
OWN = {
    "a_handle_goes_on_with_a_task_that_failed_but_not_with_one_that_was_refused": RECONFIGURED,
    "a_new_configuration_is_seen_by_everything_that_starts_after_it": RECONFIGURED,
    "a_follow_up_goes_to_the_backend_that_is_configured_then": RECONFIGURED,
    "new_limits_hold_at_once": RECONFIGURED,
    "a_call_that_was_begun_has_the_result_of_one_that_was_waited_for": "the clock of a server does not stand still",
    "leaving_the_ohm_cancels_what_is_in_the_background": "leaving it cancels nothing",
    "an_ohm_that_closes_ends_its_calls_and_their_waiters": "leaving it cancels nothing",
    "a_call_of_a_subagent_is_not_part_of_the_call_above_it": NO_OHM,
    "tasks_that_a_start_without_an_id_begins_together_have_one_and_are_found_by_it": NO_OHM,
    "a_consumer_waits_for_the_next_and_ends_with_its_ohm": "it looks into the store of another process now and then",
}
"""The tests of what is different with a server, with the reason."""


def played(name):
    """The tests of a module that need nothing but a `quick_ohm`."""
    sys.path.insert(0, f"{APP}")
    try:
        module = import_module(name)
    finally:
        sys.path.remove(f"{APP}")
    for test, function in vars(module).items():
        named = test.removeprefix("test_")
        needs_one = inspect.iscoroutinefunction(function) and "quick_ohm" in function.__code__.co_names
        if named != test and needs_one and not inspect.signature(function).parameters and named not in OWN:
            yield pytest.param(module, function, id=named)


@one_loop
@pytest.mark.parametrize(("module", "test"), [one for name in MODULES for one in played(name)])
async def test_over_a_server(module, test, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "quick_ohm", quick_ohm_in(tmp_path))
    monkeypatch.setattr(anyio, "wait_all_tasks_blocked", calm)
    with anyio.fail_after(20):
        await test()


def test_every_test_that_is_left_out_is_there():
    known = {name for module in MODULES for name in vars(sys.modules[module])}
    assert {f"test_{name}" for name in OWN} <= known
