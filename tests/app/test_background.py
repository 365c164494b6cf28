"""Tasks that a suite starts: the `Ohm` owns them."""

import anyio
import pytest
from surface import Surface, mounted

from ohm_subagents.plugin import SuiteContext

pytestmark = pytest.mark.anyio


async def test_it_runs_beside_its_suite_and_ends_with_the_ohm():
    began, ended = anyio.Event(), []

    async def work():
        try:
            began.set()
            await anyio.sleep_forever()
        finally:
            ended.append(True)

    async with mounted(surface=Surface()) as surface:
        surface.context.spawn(work)
        await began.wait()
        assert ended == []
    assert ended == [True]


async def test_they_end_at_once_when_the_program_is_cancelled_around_its_ohm(caplog):
    async with anyio.create_task_group() as program, mounted(surface=Surface()) as surface:
        surface.context.spawn(anyio.sleep_forever)
        program.cancel_scope.cancel()
        await anyio.sleep_forever()
    assert "background.left" not in caplog.text


async def test_one_that_raises_is_logged_and_costs_no_other(caplog):
    done = anyio.Event()

    async def broken():
        raise LookupError("no luck")

    async def sound():
        done.set()

    async with mounted(surface=Surface()) as surface:
        surface.context.spawn(broken)
        surface.context.spawn(sound)
        await done.wait()
        await anyio.wait_all_tasks_blocked()

    [record] = [record for record in caplog.records if record.message == "background.raised"]
    assert record.exc_info[0] is LookupError


async def test_a_context_without_an_ohm_starts_nothing():
    async def work():
        pass

    with pytest.raises(RuntimeError, match="no Ohm"):
        SuiteContext(executor=None, profiles=tuple, settings=lambda: None).spawn(work)
