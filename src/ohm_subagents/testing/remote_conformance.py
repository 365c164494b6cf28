"""The backend law for runs behind a transport. Subclass `RemoteConformance`, give the fixture `hosted`, run pytest."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from ohm_subagents._plugins.backends.interface import BackendSpec, Capability, Options, RunOutput
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Result
from ohm_subagents.contract.wire import VERSIONS, Hello, load_as
from ohm_subagents.remote import (
    LoopbackTransport,
    Patience,
    Runner,
    open_remote,
    open_runner,
    remote_capabilities,
)
from ohm_subagents.testing.conformance import BackendConformance, given
from ohm_subagents.testing.kept_feed import KeptFeed
from ohm_subagents.testing.scenarios import Scenarios, request_for
from ohm_subagents.testing.shaky import ShakyTransport
from ohm_subagents.testing.trial import Recorder, answered, cut, played, run

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_subagents._plugins.backends.interface import Backend

HASTY = Patience(retry_s=0)
CANARY = "canary-4711"


class RemoteConformance(BackendConformance):
    """Every law of `BackendConformance`, for a backend that a runner in this process hosts behind a `ShakyTransport`.

    The author gives `hosted`, and as there `options` and `scenarios`. A seed of `seed` is one sequence of faults.
    """

    @pytest.fixture(params=[1, 2])
    def seed(self, request: pytest.FixtureRequest) -> int:
        """The seeds to play; give more of them for a longer trial."""
        seed: int = request.param
        return seed

    @pytest.fixture
    def hosted(self) -> BackendSpec[Options]:
        """The backend that the runner hosts."""
        raise NotImplementedError("Give a fixture `hosted` that returns your BackendSpec.")

    @pytest.fixture
    def spec(self, hosted: BackendSpec[Options], seed: int) -> BackendSpec[Options]:
        """The backend in front of the transport."""

        @asynccontextmanager
        async def opened(options: Options) -> AsyncGenerator[Backend]:
            async with wired(hosted, options, seed=seed) as (backend, _, _):
                yield backend

        return replace(hosted, open=opened, capabilities=remote_capabilities(hosted.capabilities))

    @pytest.fixture
    def options(self, hosted: BackendSpec[Options]) -> Options:
        """The options of the backend that is hosted."""
        return hosted.options()

    async def test_preparing_answers_with_a_result(
        self, backend: Backend, spec: BackendSpec[Options], scenarios: Scenarios
    ) -> None:
        """The runner prepares its backend itself, before each run."""
        assert Capability.PREPARES not in spec.capabilities
        answered(await run(backend, scenarios.says, scenarios))

    @pytest.mark.parametrize("version", VERSIONS)
    async def test_every_event_arrives_once_and_in_order(
        self, hosted: BackendSpec[Options], options: Options, scenarios: Scenarios, seed: int, version: int
    ) -> None:
        """A transport changes neither what the sink hears nor the answer, in any version of messages."""
        near, far = Recorder(), Recorder()
        async with hosted.open(options) as backend:
            expected = await run(backend, scenarios.says, scenarios, near)
        async with wired(hosted, options, seed=seed, versions=(version,)) as (backend, _, _):
            result = await run(backend, scenarios.says, scenarios, far)
        assert result == expected, f"The run returned {cut(result)}; without a transport {cut(expected)}."
        assert far.events == near.events, f"The run emitted {cut(far.events)}; without a transport {cut(near.events)}."

    async def test_a_cancelled_run_is_stopped_at_the_runner(
        self, hosted: BackendSpec[Options], options: Options, scenarios: Scenarios, seed: int
    ) -> None:
        """A run that was cancelled has ended at the runner when its caller goes on."""
        prompt, scope = given(scenarios.hangs, "hangs"), anyio.CancelScope()

        async def hang(backend: Backend) -> None:
            with scope:
                await run(backend, prompt, scenarios)

        async with wired(hosted, options, seed=seed) as (backend, _, runner):
            async with anyio.create_task_group() as group:
                group.start_soon(hang, backend)
                await anyio.wait_all_tasks_blocked()
                assert len(await running(runner)) == 1
                scope.cancel()
            assert await running(runner) == ()

    async def test_a_lost_runner_is_an_error_that_says_so(
        self, hosted: BackendSpec[Options], options: Options, scenarios: Scenarios, seed: int
    ) -> None:
        """A run whose runner is gone returns `runner_lost`, which may be tried again; and it is returned soon."""
        prompt = given(scenarios.hangs, "hangs")
        results: list[Result[RunOutput, OhmError]] = []

        async def hang(backend: Backend) -> None:
            results.append(await run(backend, prompt, scenarios))

        async with wired(hosted, options, seed=seed) as (backend, transport, _):
            with anyio.fail_after(30):
                async with anyio.create_task_group() as group:
                    group.start_soon(hang, backend)
                    await anyio.wait_all_tasks_blocked()
                    transport.lose()
        (result,) = results
        assert isinstance(result, Err), f"The runner was lost, and the run returned {cut(result)}."
        error = result.err_value
        assert error.code == ErrorCode.RUNNER_LOST, f"The runner was lost, and the run returned {error}"
        assert error.retryable, "A lost runner is no reason not to try again."

    async def test_no_key_travels(
        self, hosted: BackendSpec[Options], options: Options, scenarios: Scenarios, seed: int
    ) -> None:
        """Neither the environment of the submitter nor the key and the variables of a profile are ever carried."""
        plain = request_for(scenarios.says, scenarios)
        agent = AgentOptions(api_key=CANARY, variables=(("ACME_TOKEN", CANARY),))
        spec = replace(plain.spec, env={"ACME_API_KEY": CANARY}, profile=replace(plain.profile, agent=agent))
        async with wired(hosted, options, seed=seed) as (backend, transport, _):
            await played(backend, replace(plain, spec=spec), Recorder())
        assert scenarios.says in json.dumps(transport.frames, ensure_ascii=False), "Nothing was carried."
        assert CANARY not in json.dumps(transport.frames), "A key was carried."

    async def test_a_run_that_was_left_goes_on_and_each_event_is_heard_once(
        self, hosted: BackendSpec[Options], options: Options, scenarios: Scenarios, seed: int
    ) -> None:
        """A submitter that attaches later hears what the one before has not recorded, and no event twice."""
        near, scope, feed = Recorder(), anyio.CancelScope(), KeptFeed()
        first, second = Leaving(scope), Recorder()
        request = replace(request_for(scenarios.says, scenarios), feed=feed)
        async with hosted.open(options) as backend:
            expected = await run(backend, scenarios.says, scenarios, near)
        async with open_runner(hosted, options) as runner:
            async with open_remote(ShakyTransport(LoopbackTransport(runner), seed=seed), patience=HASTY) as backend:
                with scope:
                    await played(backend, request, first)
            async with open_remote(ShakyTransport(LoopbackTransport(runner), seed=-seed), patience=HASTY) as backend:
                result = await backend.attach(request, second)
        assert result == expected, f"The run returned {cut(result)}; without a transport {cut(expected)}."
        heard = first.events + second.events
        assert heard == near.events, f"Both heard {cut(heard)}; without a transport it was {cut(near.events)}."

    async def test_a_run_goes_on_while_others_are_answered(self, backend: Backend, scenarios: Scenarios) -> None:
        """Runs share one feed, and none waits for another."""
        prompt, scope = given(scenarios.hangs, "hangs"), anyio.CancelScope()

        async def hang() -> None:
            with scope:
                await run(backend, prompt, scenarios)

        async with anyio.create_task_group() as group:
            group.start_soon(hang)
            await anyio.wait_all_tasks_blocked()
            for _ in range(3):
                answered(await run(backend, scenarios.says, scenarios))
            scope.cancel()


class Leaving(Recorder):
    """A sink that cancels its run at the first event."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        super().__init__()
        self._scope = scope

    def emit(self, event: object) -> None:
        """Remember the event, and leave."""
        super().emit(event)
        self._scope.cancel()


@asynccontextmanager
async def wired(
    hosted: BackendSpec[Options], options: Options, *, seed: int, versions: tuple[int, ...] | None = None
) -> AsyncGenerator[tuple[Backend, ShakyTransport, Runner]]:
    """Open a backend at a runner; return that in front of the transport, the transport and the runner."""
    async with open_runner(hosted, options) as runner:
        transport = ShakyTransport(LoopbackTransport(runner), seed=seed, versions=versions)
        async with open_remote(transport, patience=HASTY) as backend:
            yield backend, transport, runner


async def running(runner: Runner) -> tuple[str, ...]:
    """Return the keys of the runs that go on at a runner."""
    return load_as(Hello, await runner.hello()).running
