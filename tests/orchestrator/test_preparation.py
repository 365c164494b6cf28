"""The needs of a run are opened before its clocks begin; nobody who leaves waits for it."""

from contextlib import asynccontextmanager

import anyio
import pytest

from ohm_subagents import Budget, ErrorCode, Limits, Ohm
from ohm_subagents.contract import Err, OhmError, Ok
from ohm_subagents.plugin import BackendSpec, Capability, Options, RunOutput, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

LONG_S = 200
PREPARING = frozenset({Capability.PREPARES})
SHORT = Limits(soft_ms=2000, cap_ms=2000, idle_ms=2000)


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


async def at_once():
    await anyio.lowlevel.checkpoint()


async def for_long():
    await anyio.sleep(LONG_S)


class Slow:
    """A backend that takes its time; `story` has what was done, and when it began."""

    def __init__(self, *, opening=at_once, preparing=at_once, running=at_once, capabilities=PREPARING):
        self._waits = {"open": opening, "prepare": preparing, "run": running}
        self._capabilities = capabilities
        self.story = []

    @hookimpl
    def ohm_backends(self):
        return (
            BackendSpec(id="slow", summary="Slow.", options=Options, open=self._open, capabilities=self._capabilities),
        )

    async def _does(self, what):
        self.story.append((what, anyio.current_time()))
        await self._waits[what]()

    @asynccontextmanager
    async def _open(self, _options):
        await self._does("open")
        yield self

    async def prepare(self, profile, model):
        await self._does("prepare")
        return Ok(None)

    async def run(self, request, sink):
        await self._does("run")
        return Ok(RunOutput(text="done"))

    @property
    def done(self):
        return [what for what, _ in self.story]

    @property
    def begun(self):
        return self.story[-1][1]


def opened(backend, **config):
    return Ohm.open(env=HERMETIC, config={"subagentBackend": "slow", **config}, plugins=[backend])


KNOWING = pytest.mark.parametrize("capabilities", [PREPARING, PREPARING | {Capability.AGENT_OPTIONS}])


@KNOWING
@pytest.mark.parametrize("what", ["opening", "preparing"])
async def test_no_clock_of_a_run_counts_what_is_made_before_it(what, capabilities):
    backend = Slow(**{what: for_long}, capabilities=capabilities)
    async with opened(backend, subagents={"budget": {"wallMs": 2000}}) as ohm:
        result = await ohm.run("finder", "p", limits=SHORT, budget=Budget(wall_ms=2000))
    assert result.unwrap().output == "done"
    assert backend.done == ["open", "prepare", "run"]


@pytest.mark.parametrize("limits", [Limits(soft_ms=2000), Limits(cap_ms=2000)])
async def test_the_clocks_count_from_when_all_is_there(limits):
    backend = Slow(opening=for_long, preparing=for_long, running=anyio.sleep_forever)
    async with opened(backend) as ohm:
        error = (await ohm.run("finder", "p", limits=limits)).unwrap_err()
        assert error.code == ErrorCode.BACKEND_TIMEOUT
        assert anyio.current_time() - backend.begun == pytest.approx(2)


async def test_a_budget_of_time_counts_from_when_all_is_there():
    backend = Slow(preparing=for_long, running=anyio.sleep_forever)
    async with opened(backend) as ohm:
        error = (await ohm.run("finder", "p", budget=Budget(wall_ms=2000))).unwrap_err()
        assert error.code == ErrorCode.BUDGET_EXCEEDED
        assert anyio.current_time() - backend.begun == pytest.approx(2)


@pytest.mark.parametrize("what", ["opening", "preparing"])
async def test_a_task_that_is_cancelled_meanwhile_is_over_at_once(what):
    reached = anyio.Event()

    async def hang():
        reached.set()
        await anyio.sleep_forever()

    async with opened(Slow(**{what: hang})) as ohm:
        handle = await ohm.start("finder", "p", limits=SHORT)
        await reached.wait()
        before = anyio.current_time()
        await handle.cancel()
        assert (await handle.wait()).unwrap_err().code == ErrorCode.TASK_ABORTED
    assert anyio.current_time() == before, "nothing that is only being opened holds the exit"


TOO_LATE = "The backend 'slow' was not ready within 10 minutes."


@KNOWING
@pytest.mark.parametrize("what", ["opening", "preparing"])
async def test_what_is_never_ready_costs_the_run_ten_minutes_and_the_next_one_is_tried_anew(what, capabilities):
    waits = iter([anyio.sleep_forever])

    async def at_first_for_ever():
        await next(waits, at_once)()

    backend = Slow(**{what: at_first_for_ever}, capabilities=capabilities)
    async with opened(backend, subagents={"maxParallel": 1}) as ohm:
        error = (await ohm.run("finder", "p", limits=SHORT, budget=Budget(wall_ms=2000))).unwrap_err()
        assert (error.code, error.message, error.retryable) == (ErrorCode.BACKEND_TIMEOUT, TOO_LATE, True)
        assert anyio.current_time() - backend.begun == pytest.approx(600)
        assert (await ohm.run("finder", "p")).unwrap().output == "done"


async def test_those_who_wait_for_the_same_opening_wait_no_longer_than_ten_minutes_each():
    async with opened(Slow(opening=anyio.sleep_forever)) as ohm, anyio.create_task_group() as tasks:
        waited = []

        async def run():
            before = anyio.current_time()
            assert (await ohm.run("finder", "p")).unwrap_err().message == TOO_LATE
            waited.append(anyio.current_time() - before)

        for _ in range(3):
            tasks.start_soon(run)
            await for_long()
    assert waited == pytest.approx([600, 600, 600])


@pytest.mark.parametrize("what", ["opening", "preparing"])
async def test_a_warm_up_gives_up_after_ten_minutes_too(what):
    async with opened(Slow(**{what: anyio.sleep_forever})) as ohm:
        (told,) = await ohm.warm_up("finder")
    assert TOO_LATE in told.message


async def test_the_limit_of_making_ready_ends_when_all_is_there():
    async with opened(Slow(opening=for_long, running=lambda: anyio.sleep(3000))) as ohm:
        answer = await ohm.run("finder", "p", limits=Limits(soft_ms=10**7, cap_ms=10**7))
    assert answer.unwrap().output == "done"


class Shielding(Slow):
    """Shields the last step of its opening until it is told to stop, as one that starts a process does."""

    def __init__(self, *, taking=at_once):
        super().__init__()
        self._taking = taking
        self.reached, self._told, self.is_closed = anyio.Event(), anyio.Event(), False
        self.closed = anyio.Event()

    async def _listen(self):
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self._told.set()  # and no more: its sibling goes on

    @asynccontextmanager
    async def _open(self, _options):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen)
            with anyio.CancelScope(shield=True):
                await anyio.wait_all_tasks_blocked()
                self.reached.set()
                await self._told.wait()
                await self._taking()
            yield self
            await anyio.lowlevel.checkpoint()
            self.is_closed = True
            self.closed.set()


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_an_opening_that_shields_its_last_step_is_closed_in_peace():
    backend = Shielding()
    async with opened(backend) as ohm:
        await ohm.start("finder", "p")
        await backend.reached.wait()
    assert backend.is_closed


async def test_such_an_opening_has_its_peace_however_long_it_took_and_nobody_waits_for_it():
    backend = Shielding(taking=for_long)
    async with opened(backend) as ohm:
        await ohm.start("finder", "p")
        await backend.reached.wait()
        before = anyio.current_time()
    assert anyio.current_time() - before == 5
    await backend.closed.wait()


@KNOWING
@pytest.mark.parametrize("what", ["opening", "preparing"])
async def test_what_shields_itself_for_ever_costs_its_own_task_and_holds_no_exit(what, capabilities):
    released, waits = anyio.Event(), iter([True])

    async def shielded():
        if next(waits, False):
            with anyio.CancelScope(shield=True):
                await released.wait()

    async with opened(Slow(**{what: shielded}, capabilities=capabilities)) as ohm:
        before = anyio.current_time()
        error = (await ohm.run("finder", "p", limits=SHORT)).unwrap_err()
        assert (error.code, error.message) == (ErrorCode.BACKEND_TIMEOUT, TOO_LATE)
        assert anyio.current_time() - before <= 605
        await anyio.sleep(6)
        assert (await ohm.run("finder", "p")).unwrap().output == "done"
        before = anyio.current_time()
    assert anyio.current_time() - before <= 5
    released.set()
    await anyio.wait_all_tasks_blocked()


async def test_two_runs_at_once_open_once():
    backend = Slow(opening=for_long)
    async with opened(backend) as ohm, anyio.create_task_group() as tasks:
        tasks.start_soon(ohm.run, "finder", "p")
        tasks.start_soon(ohm.run, "oracle", "p")
    assert sorted(backend.done) == ["open", "prepare", "prepare", "run", "run"]


async def test_a_follow_up_that_is_withdrawn_while_its_run_is_prepared_is_not_run():
    first, second = anyio.Event(), anyio.Event()

    class Twice(Slow):
        async def prepare(self, profile, model):
            if "run" in self.done:
                second.set()
                await anyio.sleep_forever()
            return await super().prepare(profile, model)

    backend = Twice(running=first.wait)
    async with opened(backend) as ohm, anyio.create_task_group() as tasks:
        handle = await ohm.start("finder", "p")
        tasks.start_soon(handle.send, "more")
        await anyio.wait_all_tasks_blocked()
        first.set()
        await second.wait()
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            assert (await handle.wait()).unwrap().output == "done"
    assert backend.done == ["open", "prepare", "run"]


async def test_what_cannot_be_made_is_for_the_run_to_say():
    class Unprepared(Slow):
        async def prepare(self, profile, model):
            await super().prepare(profile, model)
            return Err(OhmError(code=ErrorCode.MODEL_MISSING, message="No."))

        async def run(self, request, sink):
            await super().run(request, sink)
            return Err(OhmError(code=ErrorCode.MODEL_MISSING, message="No model."))

    async with opened(Unprepared()) as ohm:
        assert (await ohm.run("finder", "p")).unwrap_err().message == "No model."


@pytest.mark.parametrize("capabilities", [frozenset(), frozenset({Capability.AGENT_OPTIONS})])
async def test_a_method_prepare_that_is_not_declared_is_the_backends_own(capabilities):
    class Polite(Slow):
        def prepare(self, prompt):
            return prompt.strip()

        async def run(self, request, sink):
            return Ok(RunOutput(text=self.prepare(request.prompt)))

    async with opened(Polite(capabilities=capabilities)) as ohm:
        assert await ohm.warm_up("finder") == ()
        assert (await ohm.run("finder", " p ")).unwrap().output == "p"


async def test_a_backend_that_raises_while_it_prepares_costs_its_own_run():
    async def fall():
        raise RuntimeError("a bug")

    async with opened(Slow(preparing=fall)) as ohm:
        assert (await ohm.run("finder", "p")).unwrap_err().code == ErrorCode.BACKEND_FAILED
        (told,) = await ohm.warm_up("finder")
        assert told.message == "Subagent 'finder' is not warmed up: Backend 'slow' failed to prepare: RuntimeError."
        assert (await ohm.run("finder", "p", backend="none")).unwrap().status == "succeeded"


async def test_warming_up_makes_what_runs_find_ready():
    backend = Slow(opening=for_long, preparing=for_long)
    async with opened(backend) as ohm:
        assert await ohm.warm_up("finder") == ()
        assert backend.done == ["open", "prepare"]
        await ohm.run("finder", "p")
        assert backend.done == ["open", "prepare", "prepare", "run"]


async def test_warming_up_is_for_every_profile_that_may_run_and_its_own_backend():
    asked = []

    class Asked(Slow):
        async def prepare(self, profile, model):
            asked.append((profile.id, f"{model}"))
            return await super().prepare(profile, model)

    subagents = {"model": "acme/big", "oracle": {"model": "acme/small"}, "task": {"backend": "none"}}
    async with opened(Asked(), subagents=subagents, features={"painterImagegen": False}) as ohm:
        assert await ohm.warm_up() == ()
    assert sorted(asked) == [("finder", "acme/big"), ("librarian", "acme/big"), ("oracle", "acme/small")]


async def test_what_cannot_be_warmed_up_is_told_and_nothing_is_raised():
    config = {"finder": {"backend": "nowhere"}}
    async with opened(Slow(), subagents=config) as ohm:
        told = await ohm.warm_up("finder", "nobody", "oracle")
    assert [one.subject for one in told] == ["finder", "nobody"]
    assert "No plugin offers the subagent backend 'nowhere'." in told[0].message
    assert "Available profiles:" in told[1].message


async def test_with_a_configuration_that_cannot_be_read_there_is_nothing_to_warm_up(tmp_path):
    (tmp_path / "ohm.json").write_text("{")
    async with Ohm.open(env=HERMETIC, config=tmp_path / "ohm.json") as ohm:
        (told,) = await ohm.warm_up()
    assert told.subject == "config"


async def test_a_warm_up_that_is_cancelled_leaves_at_once():
    async with opened(Slow(opening=anyio.sleep_forever)) as ohm:
        with anyio.move_on_after(1):
            await ohm.warm_up()
        before = anyio.current_time()
    assert anyio.current_time() == before
