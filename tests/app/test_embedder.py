"""Whatever the embedding program gives an `Ohm`, and a plugin watches with, costs one diagnostic when it breaks."""

import json
from contextlib import asynccontextmanager
from uuid import UUID

import anyio
import pytest

from ohm_subagents import Ohm
from ohm_subagents._plugins.suites.interface import UNMOUNTED
from ohm_subagents.plugin import BackendSpec, Ok, Options, RunOutput, ToolSuiteSpec, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

CONFIG = {"subagentBackend": "none", "uiMode": "verbose", "subagents": {"asyncStart": "allow"}}
PAYLOAD = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}


class Panic(BaseException):
    """A panic of a library in Rust."""


RAISED = [BrokenPipeError("stdout closed"), Panic("rust panicked"), SystemExit(3)]


class Broken:
    """Raises whatever is called."""

    def __init__(self, error):
        self._error = error

    def __getattr__(self, name):
        def called(*_arguments, **_options):
            raise self._error

        return called


def opened(**options):
    return Ohm.open(env=HERMETIC, config=CONFIG, **options)


async def works(ohm):
    """Start, wait and start again, as if nothing was wrong; what the diagnostics say."""
    first = await ohm.call("task", PAYLOAD)
    begun = await ohm.call("task", {**PAYLOAD, "async": True})
    with anyio.fail_after(30):
        waited = await ohm.call("task", {"op": "wait", "id": begun.details["task_id"]})
    assert (first.details["status"], waited.details["status"]) == ("succeeded", "succeeded")
    return [f"{one}" for one in ohm.diagnostics]


@pytest.mark.parametrize("error", RAISED)
async def test_a_logger_that_raises(error):
    async with opened(logger=Broken(error)) as ohm:
        [told] = await works(ohm)
    assert "The logger raised" in told


@pytest.mark.parametrize("error", RAISED)
async def test_a_clock_that_raises(error):
    def clock():
        raise error

    async with opened(clock=clock) as ohm:
        [told] = await works(ohm)
    assert "The clock raised" in told


@pytest.mark.parametrize("told", [None, "now", 1.5e12, float("nan"), float("inf"), 2**80, -1, True, b"1"])
async def test_a_clock_that_tells_no_time(told):
    async with opened(clock=lambda: told) as ohm:
        [said] = await works(ohm)
    assert said.startswith("The clock told ")


@pytest.mark.parametrize("error", RAISED)
async def test_a_host_that_raises(error):
    async with opened(host=Broken(error), suites=["task", "todos"]) as ohm:
        [told] = await works(ohm)
        todos = await ohm.call("write_todos", {"todos": [{"content": "a", "status": "pending"}]})
        await ohm.emit("session_start")
    assert "The host raised" in told
    assert isinstance(todos.text, str)


@pytest.mark.parametrize("error", RAISED)
async def test_an_observer_that_raises(error):
    class Watching:
        def notify(self, task, event):
            raise error

        @hookimpl
        def ohm_observers(self):
            return [self]

    async with opened(plugins=[Watching()]) as ohm:
        [told] = await works(ohm)
        assert (await ohm.run("finder", "p", observer=Watching())).ok_value.output
    assert "The observer Watching raised" in told


@pytest.mark.parametrize("error", RAISED)
async def test_makers_of_ids_that_raise(error):
    def make():
        raise error

    async with opened(new_task_id=make, new_uuid=make) as ohm:
        [told] = await works(ohm)
    assert "The new_task_id raised" in told


@pytest.mark.parametrize("given", [None, 5, "", "a\nb", UUID(int=1), "x" * 1000])
async def test_makers_of_ids_that_make_none(given):
    async with opened(new_task_id=lambda: given) as ohm:
        [told] = await works(ohm)
    assert told.startswith(f"The new_task_id gave {type(given).__name__}, which cannot be an id; ")


@pytest.mark.parametrize("error", RAISED)
async def test_a_progress_callback_that_raises(error):
    def on_update(_frame):
        raise error

    async with opened() as ohm:
        assert (await ohm.call("task", PAYLOAD, on_update=on_update)).details["status"] == "succeeded"


@pytest.mark.sample(3)
@pytest.mark.parametrize("error", RAISED)
@pytest.mark.parametrize(
    "hook", ["ohm_backends", "ohm_models", "ohm_profiles", "ohm_observers", "ohm_tool_suites", "ohm_tool_row"]
)
async def test_a_hook_that_raises(hook, error):
    def raises(self):
        raise error

    plugin = type("Hooked", (), {hook: hookimpl(raises)})()
    async with opened(plugins=[plugin]) as ohm:
        await works(ohm)
        await ohm.call("task", PAYLOAD)


@pytest.mark.parametrize("error", RAISED)
async def test_a_suite_and_its_tools_and_handlers_that_raise(error):
    async def handler(_event):
        raise error

    def build(context):
        context.host.on("session_start", handler)
        context.spawn(lambda: handler(None))
        return ()

    class Suite:
        @hookimpl
        def ohm_tool_suites(self):
            yield ToolSuiteSpec(name="odd", summary="Odd.", build=build)
            yield ToolSuiteSpec(name="worse", summary="Worse.", build=lambda _context: 1 / 0)

    async with opened(plugins=[Suite()], suites=["task", "odd", "worse"]) as ohm:
        assert await ohm.emit("session_start") == ()
        [told] = await works(ohm)
    assert "'worse' could not be built" in told


class Backend:
    """Plays one function."""

    def __init__(self, act):
        self._act = act

    async def run(self, request, sink):
        await anyio.lowlevel.checkpoint()
        await self._act(request)
        return Ok(RunOutput(text="done"))

    @hookimpl
    def ohm_backends(self):
        @asynccontextmanager
        async def open_it(_options):
            yield self

        return [BackendSpec(id="mine", summary="Mine.", options=Options, open=open_it)]


async def test_the_environment_of_a_request_cannot_be_written_to():
    env, seen = dict(HERMETIC), []

    async def writes(request):
        seen.append(dict(request.env))
        request.env["HACK"] = "1"

    async with Ohm.open(env=env, config={"subagentBackend": "mine"}, plugins=[Backend(writes)]) as ohm:
        error = (await ohm.run("finder", "p")).err_value
        await ohm.run("finder", "p")
    assert "TypeError" in error.message
    assert env == dict(HERMETIC) == seen[1]
    json.dumps(seen)


async def shields(_request):
    while not released:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(50)


released = []


@pytest.fixture
def stubborn(virtual_time):
    """Lets go only when the test is over, so that the event loop can end."""
    released.clear()
    return virtual_time


class TestExit:
    @pytest.fixture
    def anyio_backend(self, stubborn):
        return stubborn

    async def test_a_backend_that_does_not_let_itself_be_cancelled_holds_the_exit_for_five_seconds(self):
        async with Ohm.open(env=HERMETIC, config={"subagentBackend": "mine"}, plugins=[Backend(shields)]) as ohm:
            await ohm.start("finder", "p")
            await anyio.wait_all_tasks_blocked()
            before = anyio.current_time()
        took = anyio.current_time() - before
        released.append(True)
        await anyio.sleep(100)
        assert took == 5

    async def test_nor_does_one_that_shields_its_closing(self):
        class Closing(Backend):
            @hookimpl
            def ohm_backends(self):
                @asynccontextmanager
                async def open_it(_options):
                    yield self
                    await shields(None)

                return [BackendSpec(id="mine", summary="Mine.", options=Options, open=open_it)]

        async def nothing(_request):
            pass

        async with Ohm.open(env=HERMETIC, config={"subagentBackend": "mine"}, plugins=[Closing(nothing)]) as ohm:
            await ohm.run("finder", "p")
            before = anyio.current_time()
        took = anyio.current_time() - before
        released.append(True)
        await anyio.sleep(100)
        assert took == 15

    async def test_nor_do_the_handlers_and_the_background_of_a_suite(self):
        async def hang(_event=None):
            await shields(None)

        def build(context):
            context.host.on(UNMOUNTED, hang)
            context.spawn(hang)
            return ()

        class Suite:
            @hookimpl
            def ohm_tool_suites(self):
                yield ToolSuiteSpec(name="odd", summary="Odd.", build=build)

        async with opened(plugins=[Suite()], suites=["task", "odd"]):
            await anyio.wait_all_tasks_blocked()
            before = anyio.current_time()
        took = anyio.current_time() - before
        released.append(True)
        await anyio.sleep(100)
        assert took <= 10
