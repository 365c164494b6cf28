"""The backend law as tests. Subclass `BackendConformance`, give the fixture `spec`, run pytest."""

from __future__ import annotations

import os.path
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import anyio
import pytest

from ohm_subagents._plugins.backends.interface import BackendSpec, Capability, Options
from ohm_subagents._plugins.backends.request import Exchange
from ohm_subagents.contract.call_rules import CallRules
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import Checkpointed, TextDelta, ToolEnded, ToolStarted, UsageAdded
from ohm_subagents.contract.result import Err
from ohm_subagents.testing.refusal import Judge, Refusal
from ohm_subagents.testing.scenarios import NOTE, RUNS, Scenarios, note_tool, request_for
from ohm_subagents.testing.trial import Recorder, answered, cut, heard, played, prepared, run, silent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents._plugins.backends.interface import Backend
    from ohm_subagents.testing.trial import Heard

Value = TypeVar("Value")


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
        assert output.text, "The run was answered with an empty text."
        assert not streamed or output.text.strip() in streamed, (
            f"The run streamed {cut(streamed)} and answered {cut(output.text)}, which is no part of it."
        )

    async def test_an_expected_failure_is_an_err_and_never_raised(self, backend: Backend, scenarios: Scenarios) -> None:
        """`fails` returns an `Err` with a code and a message."""
        result = await run(backend, given(scenarios.fails, "fails"), scenarios)
        assert isinstance(result, Err), f"The run was to fail, and returned {cut(result)}."
        error: object = result.err_value
        assert isinstance(error, OhmError), f"The run returned an Err of {cut(error)}, which is no OhmError."
        assert error.code, "The error has no code."
        assert not error.is_wordless, "The error has no message."

    async def test_tool_calls_start_and_end_in_pairs(self, backend: Backend, scenarios: Scenarios) -> None:
        """Every started call ends once, later, with the same id and tool."""
        sink = Recorder()
        answered(await run(backend, given(scenarios.calls_two_tools, "calls_two_tools"), scenarios, sink))
        open_calls: dict[str, str] = {}
        ended: list[str] = []
        for event in sink.events:
            match event:
                case ToolStarted(call_id=call_id, tool=tool):
                    assert call_id not in open_calls, f"The call {call_id!r} was started twice."
                    open_calls[call_id] = tool
                case ToolEnded(call_id=call_id, tool=tool):
                    began = open_calls.pop(call_id, None)
                    assert began is not None, f"The call {call_id!r} ended without having started."
                    assert began == tool, f"The call {call_id!r} started as {began!r} and ended as {tool!r}."
                    ended.append(call_id)
                case _:
                    pass
        assert not open_calls, f"Calls were started and never ended: {', '.join(map(repr, open_calls))}."
        assert len(ended) >= 2, f"The run was to call two tools; calls that ended: {len(ended)}."

    async def test_cancellation_ends_a_run(self, backend: Backend, scenarios: Scenarios) -> None:
        """A hanging run ends soon after its scope was cancelled, by being cancelled, and says nothing more."""
        prompt, sink, scope = given(scenarios.hangs, "hangs"), Recorder(), anyio.CancelScope()

        async def hang() -> None:
            with scope:
                await run(backend, prompt, scenarios, sink)

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(hang)
                await anyio.wait_all_tasks_blocked()
                scope.cancel()
        sink.closed = True
        await anyio.wait_all_tasks_blocked()
        assert scope.cancelled_caught, "The run ended by itself, or swallowed its cancellation."
        silent(sink, "it was cancelled")

    async def test_every_run_reaches_a_checkpoint(self, backend: Backend, scenarios: Scenarios) -> None:
        """A run in a cancelled scope does not get through: it can always be stopped."""
        with anyio.CancelScope() as scope:
            scope.cancel()
            await run(backend, scenarios.says, scenarios)
        assert scope.cancelled_caught, "The run went through a cancelled scope: it never reached a checkpoint."

    async def test_nothing_is_emitted_after_return(self, backend: Backend, scenarios: Scenarios) -> None:
        """The sink hears nothing once the run is over."""
        sink = Recorder()
        await run(backend, scenarios.says, scenarios, sink)
        sink.closed = True
        await anyio.wait_all_tasks_blocked()
        silent(sink, "it had returned")

    async def test_parallel_runs_do_not_mix(self, backend: Backend, scenarios: Scenarios) -> None:
        """Two runs at once answer as each does alone, and their events stay apart."""
        prompts = (scenarios.says, f"{scenarios.says} And this is the second of two.")
        alone: list[Heard] = []
        together: dict[int, Heard] = {}

        async def one(number: int) -> None:
            together[number] = await heard(backend, prompts[number], scenarios, session=f"parallel_{number}")

        for number, prompt in enumerate(prompts):
            alone.append(await heard(backend, prompt, scenarios, session=f"alone_{number}"))
        async with anyio.create_task_group() as group:
            for number in range(len(prompts)):
                group.start_soon(one, number)
        for number, expected in enumerate(alone):
            heard_too, asked = together[number], cut(prompts[number])
            assert heard_too == expected, (
                f"Beside another run, {asked} gave {cut(heard_too)}; alone it gave {cut(expected)}."
            )

    async def test_a_follow_up_sees_the_session(
        self, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios
    ) -> None:
        """With `SESSIONS`, a run continues from the history and the newest checkpoint."""
        declared(spec, Capability.SESSIONS)
        prompt, word = shown(scenarios.recalls, "recalls", Capability.SESSIONS)
        sink = Recorder()
        first = answered(await run(backend, scenarios.says, scenarios, sink))
        states = [event.state for event in sink.events if isinstance(event, Checkpointed)]
        follow_up = replace(
            request_for(prompt, scenarios),
            history=(Exchange(prompt=scenarios.says, output=first.text),),
            checkpoint=states[-1] if states else None,
        )
        answer = answered(await played(backend, follow_up, Recorder())).text
        assert word in answer, f"The follow-up was to recall {word!r}, and was answered with {cut(answer)}."

    async def test_a_child_tool_is_called(
        self, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios
    ) -> None:
        """With `CHILD_TOOLS`, the subagent reaches the tools of the request, and its arguments reach them."""
        declared(spec, Capability.CHILD_TOOLS)
        prompt = shown(scenarios.calls_child_tool, "calls_child_tool", Capability.CHILD_TOOLS)
        notes: list[JsonValue] = []
        plain = request_for(prompt, scenarios)
        asked = replace(plain, spec=replace(plain.spec, child_tools=(note_tool(notes),)))
        answered(await played(backend, asked, Recorder()))
        assert notes, f"The child tool {NOTE!r} was not called."
        for note in notes:
            is_note = isinstance(note, dict) and isinstance(note.get("text"), str)
            assert is_note, f"The child tool {NOTE!r} was called with {cut(note)}, which has no text 'text'."

    async def test_an_approved_call_runs_once_and_not_before(
        self, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios
    ) -> None:
        """With `CALL_RULES`, a backend awaits the gate before a call of a tool, and then carries it out once."""
        judge, runs = await judged(None, backend, spec, scenarios)
        assert judge.asked == [("bash", 0)], f"The gate was asked about {judge.asked} (tool, runs so far)."
        assert runs == 1, f"The call was approved, and ran {runs} times."

    async def test_a_denied_call_never_runs(
        self, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios
    ) -> None:
        """With `CALL_RULES`, a call that the gate refuses is not carried out, and the run goes on without it."""
        judge, runs = await judged("A rule denies it.", backend, spec, scenarios)
        assert judge.asked == [("bash", 0)], f"The gate was asked about {judge.asked} (tool, runs so far)."
        assert runs == 0, f"The call was denied, and ran {runs} times."

    async def test_preparing_answers_with_a_result(
        self, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios
    ) -> None:
        """With `PREPARES`, `prepare` returns a `Result` each time, can be cancelled, and runs answer after it."""
        declared(spec, Capability.PREPARES)
        asked = request_for(scenarios.says, scenarios)
        with anyio.move_on_after(30) as patience:
            with anyio.CancelScope() as scope:
                scope.cancel()
                await prepared(backend, asked)
            for _ in range(2):
                await prepared(backend, asked)
        assert not patience.cancelled_caught, "`prepare` took more than half a minute, or swallowed its cancellation."
        answered(await played(backend, asked, Recorder()))

    async def test_usage_is_reported(self, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios) -> None:
        """With `USAGE`, an answered run says how many requests it made."""
        declared(spec, Capability.USAGE)
        sink = Recorder()
        answered(await run(backend, scenarios.says, scenarios, sink))
        requests = sum(event.usage.requests for event in sink.events if isinstance(event, UsageAdded))
        assert requests >= 1, f"An answered run reported {requests} requests."

    async def test_a_refusal_of_the_gate_is_returned_as_it_is(self, backend: Backend, scenarios: Scenarios) -> None:
        """A backend that asks before a model request takes no for an answer, and makes no request."""
        gate, sink = Refusal(), Recorder()
        result = await played(backend, replace(request_for(scenarios.says, scenarios), gate=gate), sink)
        if not gate.needs:
            pytest.skip("The backend asks nobody before a model request.")
        assert result == Err(gate.error), f"The gate refused the request, and the run returned {cut(result)}."
        went_on = [event for event in sink.events if isinstance(event, UsageAdded | TextDelta)]
        assert not went_on, f"The gate refused the request, and the run went on with {cut(went_on[0])}."

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
        left = sorted(task.name or str(task.id) for task in set(anyio.get_running_tasks()) - before)
        assert not left, f"Tasks were left behind: {', '.join(left)}."


async def judged(
    refusal: str | None, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios
) -> tuple[Judge, int]:
    """Run a call of `bash` that a rule asks about; return the gate, and how often the command has run."""
    declared(spec, Capability.CALL_RULES)
    prompt = shown(scenarios.calls_bash, "calls_bash", Capability.CALL_RULES)
    file = scenarios.cwd / RUNS
    before = runs_in(file)
    judge = Judge(refusal, lambda: runs_in(file) - before)
    plain = request_for(prompt, scenarios)
    spec_of_run = replace(plain.spec, tools=("bash",), call_rules=(CallRules(ask=("*",), source="a rule"),))
    answered(await played(backend, replace(plain, spec=spec_of_run, gate=judge), Recorder()))
    return judge, runs_in(file) - before


def runs_in(file: Path) -> int:
    """Return the lines of a file, 0 for one that is not there."""
    return len(file.read_text(encoding="utf-8").splitlines()) if os.path.exists(file) else 0


def given(value: Value | None, name: str) -> Value:
    """A scenario, or a skip that says which one is missing."""
    if value is None:
        pytest.skip(f"Scenarios.{name} is not given.")
    return value


def shown(value: Value | None, name: str, capability: Capability) -> Value:
    """The scenario of a declared capability, or a failure: what nothing shows is not to be declared."""
    if value is None:
        pytest.fail(f"The backend declares {capability.name}, so Scenarios.{name} has to be given.")
    return value


def declared(spec: BackendSpec[Options], capability: Capability) -> None:
    """Skip a law about something that the backend does not claim to do."""
    if capability not in spec.capabilities:
        pytest.skip(f"Backend '{spec.id}' does not declare {capability.name}.")
