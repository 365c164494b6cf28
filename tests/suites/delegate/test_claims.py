"""A delegated session is gone on with by one call at a time, whoever keeps its tasks in the same place."""

import anyio
import anyio.lowlevel
import pytest
from loops import slow_on_trio
from session_resumer import opened, resumed, session_resumer

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    """Real processes need real time."""
    return request.param


async def answered(_request, _sink):
    await anyio.lowlevel.checkpoint()
    return "done"


async def begun(place):
    """A session that is over."""
    async with opened(place, answered) as ohm:
        (session_id,) = (await resumed(ohm)).details["sessionIds"]
    return session_id


def busy(session_id):
    return f'Cannot resume: session "{session_id}" is still running. Wait for it to complete before resuming.'


def locks(place):
    return [*place.rglob("*.lock")]


async def test_of_calls_that_resume_a_session_at_once_one_is_accepted(tmp_path):
    session_id, results = await begun(tmp_path), []
    everybody, refused = anyio.Event(), 0

    async def act(_request, _sink):
        await everybody.wait()
        return "done"

    async def resume(ohm):
        nonlocal refused
        results.append(result := await resumed(ohm, session_id))
        refused += result.is_error
        if refused == 5:
            everybody.set()

    async with opened(tmp_path, act) as one, opened(tmp_path, act) as other:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for ohm in (one, other) * 3:
                    group.start_soon(resume, ohm)

    assert sorted(result.is_error for result in results) == [False, True, True, True, True, True]
    assert {result.text for result in results if result.is_error} == {busy(session_id)}
    assert [locks(tmp_path)] == [[]]


@slow_on_trio
async def test_a_session_that_another_process_goes_on_with_is_free_when_that_is_over(tmp_path):
    session_id = await begun(tmp_path)
    with session_resumer(tmp_path, session_id) as process:
        async with opened(tmp_path, answered) as ohm:
            meanwhile = await resumed(ohm, session_id)
            process.stdin.write("\n")
            assert await anyio.to_thread.run_sync(process.wait) == 0
            afterwards = await resumed(ohm, session_id)
            output = await ohm.call("get_subagent_output", {"sessionId": session_id})

    assert meanwhile.text == busy(session_id)
    assert afterwards.text.startswith("✓ t: completed")
    assert output.details["runCount"] == 3


@slow_on_trio
async def test_a_process_that_is_killed_leaves_its_session_to_the_next(tmp_path):
    session_id = await begun(tmp_path)
    with session_resumer(tmp_path, session_id) as process:
        process.kill()
        process.wait()
    async with opened(tmp_path, answered) as ohm:
        result = await resumed(ohm, session_id)
    assert result.text.startswith("✓ t: completed")


async def test_a_session_may_be_called_anything(tmp_path):
    async with opened(tmp_path, answered) as ohm:
        for name in ("../../x", "a/b", "\0", "\ud800", "x" * 5000):
            result = await resumed(ohm, name)
            assert "not found" in result.text
    assert locks(tmp_path) == []
