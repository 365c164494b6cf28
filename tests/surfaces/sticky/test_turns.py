"""A sticky session is used by one call at a time, whoever else keeps it."""

import anyio
import pytest
from session_holder import session_holder
from sticky_place import ASK, ID, files, found

pytestmark = pytest.mark.anyio

SESSION = ASK | {"sessionId": ID}
CANCELLED = f"**Status:** ERROR\n**Session ID:** `{ID}`\n\n---\n\nThe subagent was cancelled."


def locks(place):
    return [*(place / ".pi" / "subagent-sessions").glob("*/*.lock")]


async def test_a_call_waits_for_the_agent_of_another_process_and_goes_on_where_that_ended(place, opened):
    with session_holder(place, ID) as process:
        async with opened() as ohm, anyio.create_task_group() as group:
            group.start_soon(ohm.call, "subagent", SESSION | {"task": "second"})
            await anyio.wait_all_tasks_blocked()
            process.stdin.write("\n")
        assert process.wait(30) == 0

    assert [request.checkpoint for request in ohm.acting.requests] == ["first;"]
    assert [file.read_text() for file in files(place)] == ["first;second;"]
    assert locks(place) == []


async def test_a_process_that_is_killed_leaves_its_session_to_the_next(place, opened):
    with session_holder(place, ID) as process:
        async with opened() as ohm, anyio.create_task_group() as group:
            group.start_soon(ohm.call, "subagent", SESSION | {"task": "second"})
            await anyio.wait_all_tasks_blocked()
            assert ohm.acting.requests == []
            process.kill()

    assert [file.read_text() for file in files(place)] == ["second;"]


async def test_a_call_that_waits_for_another_process_hears_the_abort_and_does_not_keep_the_session(place, opened):
    abort, results = anyio.Event(), []

    async def call():
        results.append(await ohm.call("subagent", SESSION, abort=abort))

    with session_holder(place, ID) as process:
        async with opened() as ohm:
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await anyio.wait_all_tasks_blocked()
                abort.set()
            process.stdin.write("\n")
            assert process.wait(30) == 0
            await ohm.call("subagent", SESSION)

    assert [result.text for result in results] == [CANCELLED]
    assert [file.read_text() for file in files(place)] == ["first;Find auth;"]


async def test_two_ohms_of_one_process_take_turns(place, opened):
    begun, gate = anyio.Event(), anyio.Event()

    async def slow(request, sink):
        begun.set()
        await gate.wait()
        return await found(request, sink)

    async with opened(slow) as one, opened() as other, anyio.create_task_group() as group:
        group.start_soon(one.call, "subagent", SESSION | {"task": "first"})
        await begun.wait()
        group.start_soon(other.call, "subagent", SESSION | {"task": "second"})
        await anyio.wait_all_tasks_blocked()
        gate.set()

    assert [file.read_text() for file in files(place)] == ["first;second;"]


@pytest.fixture
def held(opened):
    """An `Ohm` whose agent works until the gate is open, which is never."""
    begun = anyio.Event()

    async def endless(_request, _sink):
        begun.set()
        await anyio.sleep_forever()

    return begun, opened(endless)


async def test_a_call_that_waits_for_its_turn_hears_the_abort(held):
    begun, opening = held
    abort, results = anyio.Event(), []

    async def call():
        results.append(await ohm.call("subagent", SESSION, abort=abort))

    async with opening as ohm, anyio.create_task_group() as group:
        group.start_soon(ohm.call, "subagent", SESSION)
        await begun.wait()
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            abort.set()
        assert [result.text for result in results] == [CANCELLED]
        group.cancel_scope.cancel()


async def test_a_call_that_waits_when_the_ohm_closes_is_answered_in_the_same_shape(held):
    begun, opening = held
    results = []

    async def call():
        results.append(await ohm.call("subagent", SESSION))

    async with anyio.create_task_group() as group, opening as ohm:
        group.start_soon(call)
        await begun.wait()
        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()

    first, second = results
    assert first.text == CANCELLED
    assert second.text.startswith(f"**Status:** ERROR\n**Session ID:** `{ID}`\n\n---\n\nThis Ohm is closed")
