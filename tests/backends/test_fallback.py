"""A backend that cannot begin hands over to another: never after it has done anything, and never silently."""

from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from acting import ActingBackend
from loops import one_loop

from ohm_subagents import ErrorCode, Limits, Ohm, OhmError
from ohm_subagents._orchestrator.observe.logger import HostLogger
from ohm_subagents._plugins.backends.fallback import BOOTSTRAP, UNANSWERED, fallback_spec
from ohm_subagents.contract import (
    Checkpointed,
    Diagnostic,
    DiagnosticRaised,
    ModelPattern,
    Profile,
    RouteResolved,
    TextDelta,
    ToolStarted,
)
from ohm_subagents.plugin import BackendSpec, Capability, Err, Ok, Options, RequestNeed, hookimpl
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

pytestmark = pytest.mark.anyio

SHELL = RouteResolved(runtime="pi-cli", route="interactive-shell")
NO_MODEL = OhmError(code=ErrorCode.MODEL_MISSING, message="No model for subagent.", advice="Set OHM_MODEL.")
PROFILE = Profile(id="finder", name="Finder", summary="Finds.", prompt="Find.")


class Pair:
    """Two backends as one, offered as `interactive-sdk`-like plugin; `log` says what was opened and closed."""

    def __init__(self, first, second, second_options=None):
        self.log = []
        self._first, self._second = self._watched(first), self._watched(second)
        self._second_options = second_options or {}

    def _watched(self, backend):
        (spec,) = backend.ohm_backends()

        @asynccontextmanager
        async def opened(options):
            self.log.append(f"{spec.id} opens")
            async with anyio.create_task_group(), spec.open(options) as one:
                yield one
            self.log.append(f"{spec.id} closes")

        return replace(spec, open=opened)

    @hookimpl
    def ohm_backends(self):
        return (fallback_spec(self._first, self._second, second_options=self._second_options, log=HostLogger()),)


def first(*steps):
    return ScriptedBackend(*steps, id="first")


def second(*steps):
    return ScriptedBackend(*steps, id="second")


def cannot(error=NO_MODEL, *events):
    return Step(events=events, error=error)


@asynccontextmanager
async def ohm_of(pair, **settings):
    config = {"subagentBackend": "first", "subagents": settings}
    async with Ohm.open(env=HERMETIC, plugins=[pair], config=config, profiles=[PROFILE]) as ohm:
        yield ohm


async def ran(pair, **settings):
    async with ohm_of(pair, **settings) as ohm:
        return await ohm.run("finder", "p")


async def settled(pair, **settings):
    """The record of the task, and what the caller got."""
    async with ohm_of(pair, **settings) as ohm:
        handle = await ohm.start("finder", "p")
        return await handle.wait(), ohm.task(handle.id)


@pytest.mark.parametrize("code", sorted(BOOTSTRAP))
async def test_what_the_first_cannot_begin_the_second_runs(code):
    other = second(Step(text="the answer", events=(SHELL,)))
    result, task = await settled(Pair(first(cannot(OhmError(code=code, message="Nothing to run on."))), other))
    envelope = result.ok_value
    assert (envelope.output, envelope.backend) == ("the answer", "first")
    assert (envelope.runtime, envelope.route) == ("pi-cli", "interactive-shell")
    assert [(one.subject, one.message) for one in task.diagnostics] == [
        ("fallback", "Nothing to run on, so second gets the task instead of first.")
    ]
    other.assert_done()


@pytest.mark.sample(8)
@pytest.mark.parametrize("code", sorted({*ErrorCode} - BOOTSTRAP - UNANSWERED - {ErrorCode.TASK_ABORTED}))
@one_loop
async def test_any_other_error_is_the_answer(code):
    error = OhmError(code=code, message="So it is.")
    result = await ran(Pair(first(cannot(error)), second()))
    assert result.err_value.code == code


@pytest.mark.parametrize(
    "event",
    [
        ToolStarted(call_id="1", tool="write"),
        TextDelta(text="I begin"),
        Checkpointed(state="{}"),
    ],
    ids=lambda event: event.kind,
)
async def test_a_run_that_has_said_or_done_something_is_never_repeated(event):
    result = await ran(Pair(first(cannot(NO_MODEL, event)), second()))
    assert result.err_value.code == ErrorCode.MODEL_MISSING


async def test_a_run_that_has_asked_for_a_model_request_is_never_repeated():
    async def ask(request, _sink):
        async with request.gate.request(RequestNeed(provider="acme")):
            return Err(NO_MODEL)

    result = await ran(Pair(ActingBackend(ask, id="first"), second()))
    assert result.err_value.code == ErrorCode.MODEL_MISSING


@pytest.mark.parametrize("code", sorted(UNANSWERED))
async def test_a_model_that_gives_no_answer_has_done_nothing(code):
    async def ask(request, _sink):
        async with request.gate.request(RequestNeed(provider="acme")):
            return Err(OhmError(code=code, message="No connection."))

    result, task = await settled(Pair(ActingBackend(ask, id="first"), second(Step(text="the answer", events=(SHELL,)))))
    assert (result.ok_value.output, result.ok_value.route) == ("the answer", "interactive-shell")
    assert [one.message for one in task.diagnostics] == ["No connection, so second gets the task instead of first."]


async def test_a_model_that_broke_off_in_the_middle_is_not_asked_by_the_second():
    lost = OhmError(code=ErrorCode.PROVIDER_CONNECTION_FAILED, message="It broke off.")
    result = await ran(Pair(first(cannot(lost, TextDelta(text="half"))), second()))
    assert result.err_value.message == "It broke off."


async def test_a_run_that_has_taken_a_follow_up_is_never_repeated():
    taken = anyio.Event()

    async def take(request, _sink):
        with request.inbox.steered_by(lambda _prompt: taken.set() or True):
            await taken.wait()
            return Err(NO_MODEL)

    async with ohm_of(Pair(ActingBackend(take, id="first"), second())) as ohm:
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        assert (await handle.send("and?")).err_value.code == ErrorCode.MODEL_MISSING


async def test_a_follow_up_that_was_not_taken_is_no_deed():
    async def refuse(request, _sink):
        with request.inbox.steered_by(lambda _prompt: False):
            return Err(NO_MODEL)

    result = await ran(Pair(ActingBackend(refuse, id="first"), second("the answer")))
    assert result.ok_value.output == "the answer"


async def test_a_throttled_provider_is_told_to_the_engine():
    asked = []

    async def press(request, _sink):
        asked.append(await request.gate.throttled("acme", attempt=99, retry_after_s=None))
        return Err(NO_MODEL)

    await ran(Pair(ActingBackend(press, id="first"), second("the answer")))
    assert asked == [False]


async def test_a_route_and_a_diagnostic_are_no_deeds_and_the_first_model_is_forgotten():
    told = DiagnosticRaised(diagnostic=Diagnostic(subject="model", message="It takes no thinking level."))
    named = RouteResolved(provider="openai", model="m", runtime="pi-sdk", route="interactive-sdk")
    pair = Pair(first(cannot(NO_MODEL, named, told)), second(Step(text="the answer", events=(SHELL,))))
    envelope = (await ran(pair)).ok_value
    assert (envelope.provider, envelope.model, envelope.route) == ("unavailable", "unavailable", "interactive-shell")


async def test_what_the_first_answers_is_the_answer_and_the_second_is_not_even_opened():
    pair = Pair(first("mine"), second())
    assert (await ran(pair)).ok_value.output == "mine"
    assert pair.log == ["first opens", "first closes"]


async def test_both_are_closed_the_newest_first():
    pair = Pair(first(cannot(), cannot()), second("one", "two"))
    async with ohm_of(pair) as ohm:
        assert [(await ohm.run("finder", "p")).ok_value.output for _ in range(2)] == ["one", "two"]
    assert pair.log == ["first opens", "second opens", "second closes", "first closes"]


async def test_when_neither_can_begin_the_error_is_what_has_to_be_mended_and_the_other_is_told():
    failing = cannot(OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="There is no pi.", advice="Install it."))
    result, task = await settled(Pair(first(cannot()), second(failing)))
    error = result.err_value
    assert (error.code, error.message) == (ErrorCode.MODEL_MISSING, "No model for subagent.")
    assert error.advice == "Set OHM_MODEL. second could not run it either: There is no pi. Install it."
    assert [one.message for one in task.diagnostics] == [
        "No model for subagent, so second gets the task instead of first."
    ]


async def test_a_second_that_has_begun_and_fails_is_the_answer_with_its_route():
    failing = cannot(OhmError(code=ErrorCode.PROVIDER_UNAVAILABLE, message="It is down."), SHELL)
    named = RouteResolved(provider="openai", model="m", runtime="pi-sdk", route="interactive-sdk")
    result, task = await settled(Pair(first(cannot(NO_MODEL, named)), second(failing)))
    assert result.err_value.message == "It is down."
    assert (task.route.runtime, task.route.route) == ("pi-cli", "interactive-shell")


async def test_when_both_cannot_begin_the_route_is_that_of_the_first_and_no_model_is_named():
    named = RouteResolved(provider="openai", model="m", runtime="pi-sdk", route="interactive-sdk")
    failing = cannot(OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="There is no pi."))
    _, task = await settled(Pair(first(cannot(NO_MODEL, named)), second(failing)))
    assert (task.route.runtime, task.route.route) == ("pi-sdk", "interactive-sdk")
    assert (task.route.provider, task.route.model) == ("unavailable", "unavailable")


async def test_a_first_that_cannot_be_opened_could_not_begin_either():
    broken = ScriptedBackend(id="first")

    @asynccontextmanager
    async def failing(_options):
        raise ImportError("No module named 'openai'")
        yield

    broken._open = failing
    result, task = await settled(Pair(broken, second("the answer")))
    assert result.ok_value.output == "the answer"
    assert "No module named 'openai', so second gets" in task.diagnostics[0].message


class Speed(Options):
    speed: int = 1


class Fast:
    """A backend that says how fast its options let it be."""

    def __init__(self, backend_id):
        self._id = backend_id

    def ohm_backends(self):
        @asynccontextmanager
        async def opened(options):
            yield ActingBackend(lambda _request, _sink: answer(options.speed))

        async def answer(speed):
            return f"at {speed}"

        return (BackendSpec(id=self._id, summary="", options=Speed, open=opened),)


async def test_options_of_the_second_are_read_when_it_is_needed_and_named_by_their_place():
    assert (await ran(Pair(first(cannot()), Fast("second"), {"speed": 3}))).ok_value.output == "at 3"
    wrong = (await ran(Pair(first(cannot()), Fast("second"), {"speed": "high"}))).err_value
    assert wrong.code == ErrorCode.BACKEND_OPTIONS_INVALID
    assert "subagents.backends.second.speed" in wrong.message


async def test_options_of_the_first_stay_those_that_were_validated():
    result = await ran(Pair(Fast("first"), second()), backends={"first": {"speed": 4}})
    assert result.ok_value.output == "at 4"


async def test_a_follow_up_goes_the_same_way():
    gate = anyio.Event()
    pair = Pair(first(cannot(), cannot()), second(Step(text="one", gate=gate), "two"))
    async with ohm_of(pair) as ohm, anyio.create_task_group() as group:
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()

        async def ask():
            assert (await handle.send("and?")).ok_value.output == "two"

        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        gate.set()


async def test_a_cancel_reaches_the_second():
    stopped = []

    async def hang(_request, _sink):
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append("second")

    async with ohm_of(Pair(first(cannot()), ActingBackend(hang, id="second"))) as ohm:
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        assert await handle.cancel()
        assert (await handle.wait()).err_value.code == ErrorCode.TASK_ABORTED
        await anyio.wait_all_tasks_blocked()
        assert stopped == ["second"]


class TestInVirtualTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_the_clocks_of_the_run_hold_for_the_second(self):
        pair = Pair(first(cannot()), second(Step(gate=anyio.Event())))
        async with ohm_of(pair) as ohm:
            result = await ohm.run("finder", "p", limits=Limits(soft_ms=1000))
        assert result.err_value.code == ErrorCode.BACKEND_TIMEOUT


async def test_each_is_given_only_the_conversation_that_it_wrote_itself():
    gate = anyio.Event()
    told = (Checkpointed(state="of first"),)
    one = first(cannot(), cannot(), Step(text="c", events=told), Step(text="d"), cannot())
    other = second(Step(text="a", gate=gate, events=(Checkpointed(state="of second"),)), "b", "e")
    async with ohm_of(Pair(one, other)) as ohm:
        handle = await ohm.start("finder", "p")
        async with anyio.create_task_group() as group:
            for prompt in ("2", "3", "4", "5"):
                await anyio.wait_all_tasks_blocked()
                group.start_soon(handle.send, prompt)
            await anyio.wait_all_tasks_blocked()
            gate.set()
    assert [call.checkpoint for call in one.calls] == [None, None, None, "of first", "of first"]
    assert [call.checkpoint for call in other.calls] == [None, "of second", None]


RESORT = ModelPattern(provider="local", model="search")


async def resorted(one, other):
    """Return what became of a task whose profile has a last resort."""
    config = {"subagentBackend": "first"}
    profiles = [replace(PROFILE, fallback_model=RESORT)]
    async with Ohm.open(env=HERMETIC, plugins=[Pair(one, other)], config=config, profiles=profiles) as ohm:
        handle = await ohm.start("finder", "p")
        return await handle.wait(), ohm.task(handle.id)


async def test_the_last_resort_of_a_profile_comes_after_the_second():
    one, other = first(cannot()), second("the answer")
    assert (await resorted(one, other))[0].ok_value.output == "the answer"
    assert [call.profile.fallback_model for call in (*one.calls, *other.calls)] == [None, RESORT]


ABSENT = [ErrorCode.COMMAND_UNUSABLE, ErrorCode.MODEL_MISSING, ErrorCode.MODEL_KEY_MISSING, ErrorCode.MODEL_UNKNOWN]


@pytest.mark.parametrize("code", ABSENT)
async def test_where_the_second_cannot_begin_either_the_first_runs_the_last_resort(code):
    failing = cannot(OhmError(code=code, message="There is no pi."), SHELL)
    one, other = first(cannot(), "found"), second(failing)
    result, task = await resorted(one, other)
    assert result.ok_value.output == "found"
    assert [call.profile.fallback_model for call in one.calls] == [None, RESORT]
    assert task.route.route == "first"
    assert [told.message for told in task.diagnostics] == [
        "No model for subagent, so second gets the task instead of first.",
        "There is no pi, so first gets the task with local/search instead of second.",
    ]


@pytest.mark.sample(8)
@pytest.mark.parametrize("code", sorted({*ErrorCode} - {*ABSENT, ErrorCode.TASK_ABORTED}))
@one_loop
async def test_any_other_error_of_the_second_is_the_answer(code):
    one = first(cannot())
    result, _ = await resorted(one, second(cannot(OhmError(code=code, message="So it is."))))
    assert result.err_value.code == code
    one.assert_done()


async def test_the_last_resort_never_repeats_what_the_second_has_begun():
    failing = cannot(OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="It broke."), TextDelta(text="I begin"))
    result, _ = await resorted(first(cannot()), second(failing))
    assert result.err_value.message == "It broke."


async def test_the_last_resort_is_for_want_of_a_model_and_of_nothing_else():
    no_sdk = OhmError(code=ErrorCode.PROVIDER_NOT_INSTALLED, message="There is no SDK.")
    failing = cannot(OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="There is no pi."))
    result, _ = await resorted(first(cannot(no_sdk)), second(failing))
    assert result.err_value.message == "There is no SDK."
    assert "There is no pi." in result.err_value.advice


async def test_the_capabilities_are_those_of_the_first_and_that_it_prepares_whom_it_asks():
    steering = ActingBackend(None, id="first", capabilities=frozenset({Capability.STEERING}))
    (spec,) = Pair(steering, second()).ohm_backends()
    assert (spec.id, spec.capabilities) == ("first", {Capability.STEERING, Capability.PREPARES})


class TestTheSwitch:
    """The real backends: no model here, and no `pi` there."""

    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"  # pydantic-ai runs there only

    async def run(self, cwd, profile, **env):
        backends = {"interactive-shell": {"command": ["/nowhere/pi"]}}
        async with Ohm.open(cwd=cwd, env=HERMETIC | env, config={"subagents": {"backends": backends}}) as ohm:
            handle = await ohm.start(profile, "p")
            return await handle.wait(), ohm.task(handle.id)

    @pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
    async def test_it_is_on(self, value, tmp_path):
        result, task = await self.run(tmp_path, "oracle", OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI=value)
        assert result.err_value.code == ErrorCode.MODEL_MISSING
        assert "/nowhere/pi" in result.err_value.advice
        (told,) = (one.message for one in task.diagnostics if one.subject == "fallback")
        assert told.startswith('No model for subagent "oracle"')
        assert told.endswith(", so interactive-shell gets the task instead of interactive-sdk.")
        assert (task.assignment.backend, task.route.route) == ("interactive-sdk", "interactive-sdk")

    async def test_a_finder_without_key_and_without_pi_has_its_embedded_search(self, tmp_path):
        (tmp_path / "a.py").write_text("def p(): ...\n")
        result, task = await self.run(tmp_path, "finder", OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI="on")
        envelope = result.ok_value
        assert (envelope.provider, envelope.model, envelope.route) == ("local", "search", "interactive-sdk")
        assert [told.message.partition(", so ")[2] for told in task.diagnostics] == [
            "interactive-shell gets the task instead of interactive-sdk.",
            "interactive-sdk gets the task with local/search instead of interactive-shell.",
        ]

    @pytest.mark.parametrize("value", ["false", "", "enabled"])
    async def test_it_is_off(self, value, tmp_path):
        result, task = await self.run(tmp_path, "finder", OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI=value)
        assert (result.ok_value.provider, result.ok_value.model) == ("local", "search")
        assert task.diagnostics == ()

    async def test_a_key_that_nobody_has_is_told_as_what_it_is_with_the_route_that_was_taken(self, tmp_path):
        providers = {"acme": {"baseUrl": "http://127.0.0.1:9/v1", "apiKeyEnv": "ACME_KEY"}}
        backends = {"interactive-shell": {"command": ["/nowhere/pi"]}}
        config = {"providers": providers, "sdkFallbackToCli": True, "subagents": {"backends": backends}}
        async with Ohm.open(cwd=tmp_path, env=HERMETIC, config=config) as ohm:
            handle = await ohm.start("oracle", "p", model="acme/m")
            error, task = (await handle.wait()).err_value, ohm.task(handle.id)
        assert error.code == ErrorCode.MODEL_KEY_MISSING
        assert "interactive-shell could not run it either: " in error.advice
        assert (task.route.runtime, task.route.route) == ("pi-sdk", "interactive-sdk")

    async def test_a_provider_that_cannot_be_reached_is_asked_by_pi(self, tmp_path):
        providers = {"acme": {"baseUrl": "http://127.0.0.1:9/v1"}}
        backends = {"interactive-shell": {"command": ["/nowhere/pi"]}}
        config = {"providers": providers, "sdkFallbackToCli": True, "subagents": {"backends": backends}}
        async with Ohm.open(cwd=tmp_path, env=HERMETIC, config=config) as ohm:
            error = (await ohm.run("oracle", "p", model="acme/m")).err_value
        assert error.code == ErrorCode.PROVIDER_CONNECTION_FAILED
        assert "/nowhere/pi" in error.advice

    async def test_it_is_thrown_while_an_ohm_is_open(self):
        async with Ohm.open(env=HERMETIC, config={}) as ohm:
            assert (await ohm.run("oracle", "p")).err_value.code == ErrorCode.MODEL_MISSING
            config = {"sdkFallbackToCli": True, "subagents": {"backends": {"interactive-shell": {"command": 3}}}}
            await ohm.reconfigure(config=config)
            assert (await ohm.run("oracle", "p")).err_value.code == ErrorCode.BACKEND_OPTIONS_INVALID
            await ohm.reconfigure(config={})
            assert (await ohm.run("oracle", "p")).err_value.code == ErrorCode.MODEL_MISSING


class Preparing(ScriptedBackend):
    """Says which model it was asked to prepare for whom, and cannot as long as there are `errors`."""

    def __init__(self, *errors, id):
        super().__init__(id=id, default=Step(text="done"))
        self.asked = []
        self._errors = list(errors)

    @property
    def spec(self):
        known = super().spec
        return replace(known, capabilities=known.capabilities | {Capability.PREPARES})

    async def prepare(self, profile, model):
        await anyio.lowlevel.checkpoint()
        self.asked.append((profile.id, model, profile.fallback_model))
        return Err(self._errors.pop(0)) if self._errors else Ok(None)


MODEL, RESORT = ModelPattern(provider="acme", model="big"), ModelPattern(provider="local", model="search")


async def test_the_first_is_prepared_and_the_second_left_alone():
    one, other = Preparing(id="first"), Preparing(id="second")
    async with ohm_of(Pair(one, other), model=f"{MODEL}") as ohm:
        assert await ohm.warm_up() == ()
    assert (one.asked, other.asked) == ([("finder", MODEL, None)], [])


async def test_where_the_first_cannot_begin_the_second_is_prepared():
    one, other = Preparing(NO_MODEL, id="first"), Preparing(id="second")
    async with ohm_of(Pair(one, other)) as ohm:
        assert await ohm.warm_up() == ()
    assert (len(one.asked), len(other.asked)) == (1, 1)


async def test_where_neither_has_a_model_the_last_resort_is_prepared_too():
    one, other = Preparing(NO_MODEL, id="first"), Preparing(NO_MODEL, id="second")
    profile = replace(PROFILE, fallback_model=RESORT)
    config = {"subagentBackend": "first"}
    async with Ohm.open(env=HERMETIC, plugins=[Pair(one, other)], config=config, profiles=[profile]) as ohm:
        assert await ohm.warm_up() == ()
    assert one.asked == [("finder", None, None), ("finder", None, RESORT)]
    assert len(other.asked) == 1


async def test_what_is_no_bootstrap_error_is_told_by_the_warm_up():
    broken = OhmError(code=ErrorCode.PROVIDER_QUOTA_EXCEEDED, message="No credit.")
    one, other = Preparing(broken, id="first"), Preparing(id="second")
    async with ohm_of(Pair(one, other)) as ohm:
        (told,) = await ohm.warm_up()
    assert told.message.endswith("No credit.")
    assert other.asked == []
