"""The backend law as tests. Subclass `BackendConformance`, give three fixtures, run pytest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
import pytest

from ohm_subagents._plugins.interfaces import BackendSpec, Capability, Exchange, Options, RunOutput, RunRequest
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import Checkpointed, RunEvent, TextDelta, ToolEnded, ToolStarted, UsageAdded
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_subagents._plugins.interfaces import Backend
    from ohm_subagents.contract.model_pattern import ModelPattern

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenarios:
    """Prompts that make a backend do a thing. A law without its prompt is skipped, and the skip says so.

    `says` is answered; `hangs` goes on until it is cancelled; `fails` ends with an error; `calls_two_tools` calls two
    of `tools`. `recalls` is a follow-up to `says` and a word that its answer contains only if the session was seen.
    """

    says: str = "Say hello."
    hangs: str | None = None
    fails: str | None = None
    calls_two_tools: str | None = None
    recalls: tuple[str, str] | None = None
    tools: tuple[str, ...] = ()
    model: ModelPattern | None = None
    cwd: Path = field(default_factory=Path.cwd)


class Recorder:
    """A sink that remembers, and knows when it should have been left alone."""

    def __init__(self) -> None:
        self.events: list[RunEvent] = []
        self.late: list[RunEvent] = []
        self.closed = False

    def emit(self, event: RunEvent) -> None:
        """Remember one event."""
        (self.late if self.closed else self.events).append(event)


class BackendConformance:
    """One test a law. The author gives `spec`, and where the defaults do not fit `options` and `scenarios`.

    Every test runs on asyncio and on trio; a backend bound to one loop narrows the fixture `anyio_backend`.
    """

    pytestmark = pytest.mark.anyio

    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(self, request: pytest.FixtureRequest) -> str:
        """The event loops to run on."""
        loop: str = request.param
        return loop

    @pytest.fixture
    def spec(self) -> BackendSpec[Options]:
        """The backend under test."""
        raise NotImplementedError("Give a fixture `spec` that returns your BackendSpec.")

    @pytest.fixture
    def options(self, spec: BackendSpec[Options]) -> Options:
        """Its options."""
        return spec.options()

    @pytest.fixture
    def scenarios(self) -> Scenarios:
        """Its prompts."""
        return Scenarios()

    @pytest.fixture
    async def backend(self, spec: BackendSpec[Options], options: Options) -> AsyncGenerator[Backend]:
        """The open backend."""
        async with spec.open(options) as opened:
            yield opened

    async def test_an_answer_is_an_ok_with_the_whole_text(self, backend: Backend, scenarios: Scenarios) -> None:
        """`says` succeeds, and what was streamed is part of the answer."""
        sink = Recorder()
        output = answered(await run(backend, scenarios.says, scenarios, sink))
        streamed = "".join(event.text for event in sink.events if isinstance(event, TextDelta))
        assert output.text
        assert not streamed or output.text.strip() in streamed

    async def test_an_expected_failure_is_an_err_and_never_raised(self, backend: Backend, scenarios: Scenarios) -> None:
        """`fails` returns an `Err` with a code and a message."""
        result = await run(backend, given(scenarios.fails, "fails"), scenarios)
        assert isinstance(result, Err)
        assert isinstance(result.err_value, OhmError)
        assert result.err_value.code
        assert result.err_value.message

    async def test_tool_calls_start_and_end_in_pairs(self, backend: Backend, scenarios: Scenarios) -> None:
        """Every started call ends once, later, with the same id and tool."""
        sink = Recorder()
        answered(await run(backend, given(scenarios.calls_two_tools, "calls_two_tools"), scenarios, sink))
        open_calls: dict[str, str] = {}
        ended: list[str] = []
        for event in sink.events:
            match event:
                case ToolStarted(call_id=call_id, tool=tool):
                    assert call_id not in open_calls
                    open_calls[call_id] = tool
                case ToolEnded(call_id=call_id, tool=tool):
                    assert open_calls.pop(call_id) == tool
                    ended.append(call_id)
                case _:
                    pass
        assert not open_calls
        assert len(ended) >= 2

    async def test_cancellation_ends_a_run(self, backend: Backend, scenarios: Scenarios) -> None:
        """A hanging run is gone soon after its scope was cancelled, and says nothing more."""
        prompt, sink = given(scenarios.hangs, "hangs"), Recorder()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(run, backend, prompt, scenarios, sink)
                await anyio.wait_all_tasks_blocked()
                group.cancel_scope.cancel()
        sink.closed = True
        await anyio.wait_all_tasks_blocked()
        assert not sink.late

    async def test_every_run_reaches_a_checkpoint(self, backend: Backend, scenarios: Scenarios) -> None:
        """A run in a cancelled scope does not get through: it can always be stopped."""
        with anyio.CancelScope() as scope:
            scope.cancel()
            await run(backend, scenarios.says, scenarios)
        assert scope.cancelled_caught

    async def test_nothing_is_emitted_after_return(self, backend: Backend, scenarios: Scenarios) -> None:
        """The sink hears nothing once the run is over."""
        sink = Recorder()
        await run(backend, scenarios.says, scenarios, sink)
        sink.closed = True
        await anyio.wait_all_tasks_blocked()
        assert not sink.late

    async def test_parallel_runs_do_not_mix(self, backend: Backend, scenarios: Scenarios) -> None:
        """Two runs at once answer as two runs in turn do, and their events stay apart."""
        alone = answered(await run(backend, scenarios.says, scenarios)).text
        sinks = [Recorder(), Recorder()]
        texts: list[str] = []

        async def one(sink: Recorder) -> None:
            texts.append(answered(await run(backend, scenarios.says, scenarios, sink)).text)

        async with anyio.create_task_group() as group:
            for sink in sinks:
                group.start_soon(one, sink)
        assert texts == [alone, alone]
        assert [event.kind for event in sinks[0].events] == [event.kind for event in sinks[1].events]

    async def test_a_follow_up_sees_the_session(
        self, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios
    ) -> None:
        """With `SESSIONS`, a run continues from the history and the newest checkpoint."""
        declared(spec, Capability.SESSIONS)
        prompt, word = given(scenarios.recalls, "recalls")
        sink = Recorder()
        first = answered(await run(backend, scenarios.says, scenarios, sink))
        states = [event.state for event in sink.events if isinstance(event, Checkpointed)]
        follow_up = replace(
            request_for(prompt, scenarios),
            history=(Exchange(prompt=scenarios.says, output=first.text),),
            checkpoint=states[-1] if states else None,
        )
        assert word in answered(await backend.run(follow_up, Recorder())).text

    async def test_usage_is_reported(self, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios) -> None:
        """With `USAGE`, an answered run says how many requests it made."""
        declared(spec, Capability.USAGE)
        sink = Recorder()
        answered(await run(backend, scenarios.says, scenarios, sink))
        assert sum(event.usage.requests for event in sink.events if isinstance(event, UsageAdded)) >= 1

    async def test_large_and_non_ascii_prompts_survive(self, backend: Backend, scenarios: Scenarios) -> None:
        """A prompt of 200,000 characters beyond ASCII is a prompt like any other."""
        answered(await run(backend, scenarios.says + " \u00e9\u4e2d\U0001f469\u200d\U0001f680" * 40_000, scenarios))

    async def test_nothing_is_left_after_close(
        self, spec: BackendSpec[Options], options: Options, scenarios: Scenarios
    ) -> None:
        """Closing ends every task that opening and running began."""
        before = set(anyio.get_running_tasks())
        async with spec.open(options) as opened:
            await run(opened, scenarios.says, scenarios)
        await anyio.wait_all_tasks_blocked()
        assert not set(anyio.get_running_tasks()) - before


def request_for(prompt: str, scenarios: Scenarios) -> RunRequest:
    """A plain request in a session of its own."""
    return RunRequest(
        task_id=TaskId("task_1"),
        session_id=SessionId("session_1"),
        profile=Profile(id="tester", name="Tester", summary="Runs conformance prompts.", prompt=""),
        description="conformance",
        prompt=prompt,
        instructions="You are a test subject.",
        cwd=scenarios.cwd,
        tools=scenarios.tools,
        model=scenarios.model,
    )


async def run(
    backend: Backend, prompt: str, scenarios: Scenarios, sink: Recorder | None = None
) -> Result[RunOutput, OhmError]:
    """One run of a prompt."""
    return await backend.run(request_for(prompt, scenarios), sink or Recorder())


def answered(result: Result[RunOutput, OhmError]) -> RunOutput:
    """The output of a run that has to succeed."""
    match result:
        case Ok(output):
            return output
        case Err(error):
            pytest.fail(f"The run failed: {error}")


def given(value: Value | None, name: str) -> Value:
    """A scenario, or a skip that says which one is missing."""
    if value is None:
        pytest.skip(f"Scenarios.{name} is not given.")
    return value


def declared(spec: BackendSpec[Options], capability: Capability) -> None:
    """Skip a law about something that the backend does not claim to do."""
    if capability not in spec.capabilities:
        pytest.skip(f"Backend '{spec.id}' does not declare {capability.name}.")
