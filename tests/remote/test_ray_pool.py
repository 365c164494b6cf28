"""The pool of runners over runners in this process: where runs are placed, and what a lost runner costs."""

import socket
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from loops import real_clocks
from pooled_runners import PooledRunners, pool
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from told_backend import TOLD, TellOptions, Told

import ohm_ray
from ohm_ray.actors import Actors
from ohm_ray.calls import silent
from ohm_ray.directories import Directory
from ohm_ray.hooks import ohm_backends
from ohm_ray.opening import TOKEN, TOKEN_FILE
from ohm_ray.options import RayOptions
from ohm_ray.services import keyless, read, written
from ohm_subagents import Budget, ErrorCode, Ohm
from ohm_subagents.contract import TextDelta
from ohm_subagents.plugin import (
    BackendContext,
    CompatibleModel,
    CompatibleProvider,
    Err,
    Ok,
    RequestNeed,
    RunOutput,
    validated_options,
)
from ohm_subagents.remote import UndeliveredError
from ohm_subagents.testing import HERMETIC, EventLog

pytestmark = pytest.mark.anyio

ELSEWHERE = "The runner was lost, and the run goes on at another one, from its last checkpoint."


async def test_runs_are_spread_over_the_runners():
    log = EventLog()
    async with pool(log, runners=3) as (ohm, here):
        handles = [await ohm.start("finder", "hang") for _ in range(6)]
        for handle in handles:
            await log.until(lambda task, event, this=handle.id: task.id == this and isinstance(event, TextDelta))
        running = [from_json(await one.call("hello"))["running"] for one in here.hosted.values()]
        assert [len(one) for one in running] == [2, 2, 2]


async def test_two_programs_with_one_task_each_use_two_runners():
    log, other = EventLog(), EventLog()
    async with pool(log, runners=2) as (first, here), pool(other, here=here, runners=2) as (second, _):
        for ohm, told in ((first, log), (second, other)):
            await ohm.start("finder", "hang")
            await told.until(lambda _task, event: isinstance(event, TextDelta))
        running = [from_json(await one.call("hello"))["running"] for one in here.hosted.values()]
        assert [len(one) for one in running] == [1, 1]


async def test_a_lost_runner_costs_its_own_runs_and_the_next_one_is_placed():
    log = EventLog()
    async with pool(log, runners=2) as (ohm, here):
        lost, kept = [await ohm.start("finder", prompt) for prompt in ("hang", "count 40")]
        for handle in (lost, kept):
            await log.until(lambda task, event, this=handle.id: task.id == this and isinstance(event, TextDelta))
        here.hosted[0].dead.set()
        error = (await lost.wait()).unwrap_err()
        assert (error.code, error.retryable) == (ErrorCode.RUNNER_LOST, True)
        assert ohm.task(lost.id).text == "I hang"
        assert (await kept.wait()).unwrap().output == "Done: count 40"
        assert (await ohm.run("finder", "say")).unwrap().output == "Done: say"


async def test_a_run_goes_on_elsewhere_from_its_checkpoint_where_that_is_asked_for():
    log = EventLog()
    async with pool(log, runners=2, onLost="retry") as (ohm, here):
        handle = await ohm.start("finder", "count 30")
        await log.until(lambda _task, event: isinstance(event, TextDelta) and event.text == "10 ")
        here.hosted[0].dead.set()
        assert (await handle.wait()).unwrap().output == "Done: count 30"
        assert [int(word) for word in ohm.task(handle.id).text.split()] == [*range(1, 31)]
        assert "goes on at another one" in ohm.task(handle.id).diagnostics[0].message


async def test_a_run_that_goes_on_elsewhere_is_sent_to_no_life_of_a_runner_that_is_over():
    log = EventLog()
    async with pool(log, runners=5, onLost="retry") as (ohm, here):
        handles = [await ohm.start("finder", prompt) for prompt in ("count 30", "hang", "hang", "hang", "hang")]
        for handle in handles:
            await log.until(lambda task, event, this=handle.id: task.id == this and isinstance(event, TextDelta))
        for number in range(1, 5):
            here.hosted[number].begin_anew()
        here.hosted[0].dead.set()
        assert (await handles[0].wait()).unwrap().output == "Done: count 30"
        assert [each.message for each in ohm.task(handles[0].id).diagnostics] == [ELSEWHERE]


@asynccontextmanager
async def left_pools(directory, backend=None, **options):
    """A function that opens an `Ohm` which leaves its tasks at these runners when it is closed, and the runners."""
    env = HERMETIC | {"PI_CONFIG_DIR": str(directory), "OHM_SUBAGENTS_STORE": "sqlite"}
    async with anyio.create_task_group() as group:
        here = PooledRunners(group, backend or Told("Done"), TOLD.capabilities, "told")
        yield lambda *more: pool(*more, settings={"onClose": "detach"}, env=env, here=here, **options), here
        group.cancel_scope.cancel()


def numbers(task):
    return [int(word) for word in task.text.split()]


@real_clocks
async def test_a_task_is_taken_up_at_the_runner_that_has_its_run(tmp_path):
    log = EventLog()
    async with left_pools(tmp_path, runners=2) as (opened, _):
        async with opened(log) as (ohm, _):
            await ohm.start("finder", "hang")
            handle = await ohm.start("finder", "count 60")
            await log.until(lambda _task, event: isinstance(event, TextDelta) and event.text == "9 ")
        async with opened() as (ohm, _):
            assert (await ohm.handle(handle.id).wait()).unwrap().output == "Done: count 60"
            assert numbers(ohm.task(handle.id)) == [*range(1, 61)]


@real_clocks
async def test_a_run_that_went_on_elsewhere_is_taken_up_there(tmp_path):
    log = EventLog()
    async with left_pools(tmp_path, runners=2, onLost="retry") as (opened, here):
        async with opened(log) as (ohm, _):
            handle = await ohm.start("finder", "count 60")
            await log.until(lambda _task, event: isinstance(event, TextDelta) and event.text == "9 ")
            here.hosted[0].dead.set()
            await log.until(lambda _task, event: isinstance(event, TextDelta) and event.text == "20 ")
        async with opened() as (ohm, _):
            assert (await ohm.handle(handle.id).wait()).unwrap().output == "Done: count 60"
            assert numbers(ohm.task(handle.id)) == [*range(1, 61)]
            kinds = [one.event.kind for one in await ohm.store.history(ohm.task(handle.id))]
    assert (kinds.count("run_started"), kinds.count("diagnostic_raised")) == (1, 1)


@real_clocks
@pytest.mark.parametrize("on_lost", ["retry", "fail"])
async def test_a_run_whose_runner_was_lost_while_nobody_was_there_goes_on_or_fails_as_is_asked_for(tmp_path, on_lost):
    log = EventLog()
    async with left_pools(tmp_path, runners=2, onLost=on_lost) as (opened, here):
        async with opened(log) as (ohm, _):
            handle = await ohm.start("finder", "count 60")
            await log.until(lambda _task, event: isinstance(event, TextDelta) and event.text == "9 ")
        here.hosted[0].dead.set()
        async with opened() as (ohm, _):
            result = await ohm.handle(handle.id).wait()
            said = numbers(ohm.task(handle.id))
    if on_lost == "retry":
        assert (result.unwrap().output, said) == ("Done: count 60", [*range(1, 61)])
    else:
        assert (result.unwrap_err().code, said) == (ErrorCode.RUNNER_LOST, [*range(1, len(said) + 1)])


@real_clocks
async def test_a_run_that_goes_on_elsewhere_is_charged_the_request_that_nobody_heard_of(tmp_path):
    asked, log = [], EventLog()

    class Asking:
        async def run(self, request, sink):
            async with request.gate.request(RequestNeed(provider="acme")) as granted:
                if isinstance(granted, Err):
                    return granted
                asked.append(request.task_id)
                sink.emit(TextDelta(text="asked "))
                await (anyio.sleep_forever() if len(asked) == 1 else anyio.lowlevel.checkpoint())
            return Ok(RunOutput(text="done"))

    async with left_pools(tmp_path, Asking(), runners=2, onLost="retry") as (opened, here):
        async with opened(log) as (ohm, _):
            handle = await ohm.start("finder", "p", budget=Budget(requests=1))
            await log.until(lambda _task, event: isinstance(event, TextDelta))
        here.hosted[0].dead.set()
        async with opened() as (ohm, _):
            assert (await ohm.handle(handle.id).wait()).unwrap_err().code == ErrorCode.BUDGET_EXCEEDED
            assert (len(asked), ohm.task(handle.id).activity.usage.requests) == (1, 1)


@real_clocks
async def test_the_runners_forget_what_has_ended_when_the_program_is_closed(tmp_path):
    async with left_pools(tmp_path, runners=2) as (opened, here):
        async with opened() as (ohm, _):
            for handle in [await ohm.start("finder", "say") for _ in range(10)]:
                (await handle.wait()).unwrap()
        hellos = [from_json(await one.call("hello")) for one in here.hosted.values()]
    assert hellos
    assert [(one["running"], one["ended"]) for one in hellos] == [([], [])] * len(hellos)


async def test_a_pool_that_runs_another_backend_is_refused():
    async with pool(run="none") as (ohm, _here):
        error = (await ohm.run("finder", "say")).unwrap_err()
    assert error.code == ErrorCode.BACKEND_OPTIONS_INVALID
    assert str(error).startswith(
        "The pool 'default' runs 'told', not 'none'. Name another one as subagents.backends.ray.pool"
    )


async def test_the_first_program_of_a_pool_says_the_options_of_its_runners_and_the_next_one_is_told():
    async with pool(labels={"gpu": "a100"}) as (ohm, here):
        (await ohm.run("finder", "say")).unwrap()
        for options, named in (
            ({"labels": {"gpu": "h100"}}, "'labels'"),
            ({"resources": {"slot": 1}, "runtimeEnv": {"pip": ["x"]}}, "'labels' and 'resources' and 'runtimeEnv'"),
            ({"labels": {"gpu": "a100"}, "runOptions": {"greeting": "Hi"}}, "'runOptions'"),
        ):
            async with pool(here=here, **options) as (second, _):
                error = (await second.run("finder", "say")).unwrap_err()
            fact = f"The runners of the pool 'default' were started with other {named} than this program has."
            assert (error.code, error.message) == (ErrorCode.BACKEND_OPTIONS_INVALID, fact)
        async with pool(here=here, labels={"gpu": "a100"}, runners=2) as (equal, _):
            (await equal.run("finder", "say")).unwrap()


async def test_a_run_whose_provider_the_runners_know_in_another_way_is_told_and_no_other_is():
    acme = {"baseUrl": "https://llm.example/v1", "apiKeyEnv": "ACME_KEY"}
    async with pool(providers={"acme": acme}) as (ohm, here):
        (await ohm.run("finder", "say", model="acme/small")).unwrap()
        async with pool(here=here, providers={"acme": acme, "other": acme}) as (second, _):
            (await second.run("finder", "say", model="acme/small")).unwrap()
            error = (await second.run("finder", "say", model="other/small")).unwrap_err()
    fact = "The runners of the pool 'default' were started without the provider 'other' as this program has it."
    assert (error.code, error.message) == (ErrorCode.BACKEND_OPTIONS_INVALID, fact)


def service(**given):
    return CompatibleProvider(name="acme", base_url="https://llm.example/v1", **given)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (service(api_key="0123456789abcdef", source="models.json"), "has its key in models.json"),
        (replace(service(), base_url="https://me:secret-word@llm.example"), "has what looks like a key"),
        (replace(service(), base_url="https://llm.example/v1?key=sk-proj-" + "a1" * 20), "has what looks like a key"),
    ],
)
def test_no_key_of_a_provider_travels_and_a_run_that_needs_it_is_told_why(given, why):
    [sent] = keyless([given])
    assert read(written((sent,))) == (sent,)
    assert why in sent.obstacle
    assert "keys do not travel to runners: name, as apiKeyEnv of providers in ohm.json" in sent.obstacle
    assert not any(key in str(written((sent,))) for key in ("0123456789abcdef", "secret-word", "a1a1"))


def test_a_provider_travels_with_its_models_and_the_name_of_a_variable():
    models = (CompatibleModel(id="large", supports_thinking=True, context_window=1000), CompatibleModel(id="small"))
    given = (service(api_key_env="ACME_KEY", models=models),)
    assert keyless(given) == read(from_json(to_json(written(given)))) == given


def note(text: str) -> str:
    """Take a note."""
    return text


async def test_what_the_backend_of_the_runners_cannot_do_is_refused_or_told():
    async with anyio.create_task_group() as group:
        here = PooledRunners(group, Told("Done"), frozenset(), "told")
        async with pool(here=here) as (ohm, _):
            error = (await ohm.run("finder", "say", result_type=int)).unwrap_err()
            done = (await ohm.run("finder", "say", tools=[note])).unwrap()
            told = [one.message for one in ohm.task(done.task_id).diagnostics]
        group.cancel_scope.cancel()
    assert "'told', which the runners run, cannot hand in the answer that the profile demands." in str(error)
    assert told == ["'note': not given, because the backend 'told' at the runners gives no tools."]


async def test_a_backend_that_is_installed_here_too_says_what_its_runs_at_runners_can_do():
    config = {"subagentBackend": "ray", "subagents": {"backends": {"ray": {"run": "none"}}}}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[ohm_ray]) as ohm:
        error = (await ohm.run("finder", "say", tools=[note])).unwrap_err()
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED


async def test_no_cluster_is_one_error():
    async with pool() as (ohm, here):
        here.is_down = True
        error = (await ohm.run("finder", "say")).unwrap_err()
    assert (error.code, error.retryable) == (ErrorCode.RUNNER_LOST, True)


async def test_a_runner_that_never_came_is_told_with_what_it_demands_of_a_node():
    async with pool(labels={"gpu": "a100"}) as (ohm, here):
        here.is_down = True
        error = (await ohm.run("finder", "say")).unwrap_err()
    assert str(error).endswith(
        'It starts only on a node that has {"labels": {"gpu": "a100"}}, and waits in the cluster for one.'
    )


async def test_rules_for_calls_are_refused_where_the_runners_cannot_keep_them():
    async with pool(settings={"finder": {"tools": {"deny": ["read: /etc/**"]}}}) as (ohm, _here):
        error = (await ohm.run("finder", "say")).unwrap_err()
    assert "cannot keep to the rules" in str(error)


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_trio_is_told_of(anyio_backend):
    del anyio_backend
    (spec,) = ohm_backends(BackendContext())
    async with spec.open(RayOptions()) as backend:
        error = (await backend.run(None, None)).err_value
    assert error.code == ErrorCode.EVENT_LOOP_UNSUPPORTED


def test_the_backend_stays_open_for_equal_contexts():
    (one,), (other,) = ohm_backends(BackendContext()), ohm_backends(BackendContext())
    assert replace(one) == other
    assert TellOptions().greeting == "Done"


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ({"runners": 0}, "runners' must be at least 1."),
        ({"runners": "four"}, "runners' must be a whole number or an object."),
        ({"runners": None}, "runners' must be a whole number or an object."),
        ({"runners": {"min": 0}}, "runners.min' must be at least 1."),
        ({"runners": {"mn": 1}}, "runners.mn' is not an option of backend 'ray'."),
        (
            {"runners": {"min": 8, "max": 2}},
            "runners' is not valid: 'min' is 8, and 'max' is 2; allowed: a 'min' of at most 'max'.",
        ),
        (
            {"runners": {"min": 8}},
            "runners' is not valid: 'min' is 8, and 'max' is 4, unless you set it; allowed: a 'min' of at most 'max'.",
        ),
        ({"labels": {"gpu": 1}}, "labels.gpu' must be a string."),
        ({"address": "autoo"}, "is no address of a Ray cluster; allowed: local, auto, <host>:<port>."),
    ],
)
def test_a_faulty_option_is_named_by_the_words_of_the_configuration(written, fault):
    (spec,) = ohm_backends(BackendContext())
    assert validated_options(spec, {"ray": written}).err_value.message.endswith(fault)


@pytest.mark.parametrize("given", [{"api_key": "0123456789abcdef" * 3}, {"deep": [{"header": "sk-proj-" + "a1" * 20}]}])
def test_options_with_what_looks_like_a_key_are_refused_without_showing_it(given):
    [spec] = ohm_backends(BackendContext())
    told = str(validated_options(spec, {"ray": {"runOptions": given}}).err_value)
    assert "has what looks like a key, and travels to the runners; set keys in the environment" in told
    assert "0123456789abcdef" not in told
    assert "a1a1" not in told
    assert RayOptions(run_options={"greeting": "Hi", "models": ["m1"]}).run_options["models"] == ["m1"]


@pytest.mark.parametrize("address", ["autoo", "127.0.0.1", "host:port", ""])
def test_what_is_no_address_of_a_cluster_is_told_with_what_is_allowed(address):
    with pytest.raises(ValidationError, match=r"allowed: local, auto, <host>:<port>"):
        RayOptions(address=address)


def test_an_address_where_nobody_answers_is_told_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert silent(address) is None
    error = silent(address)
    assert (error.code, error.message) == ("runner_lost", f"Nothing answers at '{address}': Connection refused.")


def test_the_directory_of_a_cluster_whose_program_was_killed_is_swept_by_the_next_one(tmp_path):
    killed, at_work = Directory(tmp_path), Directory(tmp_path)
    (tmp_path / "ohm-ray-of-somebody-else").mkdir()
    (killed.path / "session").mkdir()
    killed.leave()
    third = Directory(tmp_path)
    assert {*tmp_path.iterdir()} == {tmp_path / "ohm-ray-of-somebody-else", at_work.path, third.path}
    for one in (at_work, third):
        one.remove()
    assert [one.name for one in tmp_path.iterdir()] == ["ohm-ray-of-somebody-else"]


def test_the_variables_of_the_plugin_are_in_the_reference():
    page = Path(__file__).parents[2].joinpath("docs/reference/env.md").read_text()
    assert all(f"| `{name}` |" in page for name in (TOKEN, TOKEN_FILE))


of_ray = pytest.mark.parametrize("anyio_backend", ["asyncio"])


class ScriptedRay:
    """A cluster that starts every actor that it is asked for, and says how."""

    exceptions = SimpleNamespace(RayError=OSError)

    def __init__(self, head=""):
        self.asked = []
        self.head = head

    def get_runtime_context(self):
        return SimpleNamespace(gcs_address=self.head)

    def remote(self, _actor):
        return self

    def options(self, **options):
        self.asked.append(options)
        return SimpleNamespace(remote=from_json)


@pytest.mark.parametrize(
    ("options", "placement"),
    [
        ({}, {"scheduling_strategy": "SPREAD"}),
        ({"resources": {"slot": 1}}, {"scheduling_strategy": "SPREAD", "resources": {"slot": 1}}),
        ({"labels": {"gpu": "in(a100,h100)"}}, {"label_selector": {"gpu": "in(a100,h100)"}}),
        (
            {"labels": {"gpu": "a100"}, "resources": {"slot": 2}, "runtimeEnv": {"pip": ["x"]}},
            {"label_selector": {"gpu": "a100"}, "resources": {"slot": 2}, "runtime_env": {"pip": ["x"]}},
        ),
    ],
)
@of_ray
async def test_each_runner_of_a_pool_is_placed_by_its_labels_and_resources_or_spread(anyio_backend, options, placement):
    del anyio_backend
    ray = ScriptedRay()
    await Actors(ray, RayOptions(pool="big", **options)).find(3)
    [asked] = ray.asked
    named = {"name": "ohm/big/3", "namespace": "ohm", "lifetime": "detached", "get_if_exists": True, "num_cpus": 0}
    ours = {*named, "max_concurrency", "max_restarts", "max_task_retries"}
    assert {name: asked[name] for name in named} == named
    assert {name: value for name, value in asked.items() if name not in ours} == placement


@of_ray
async def test_a_head_that_is_gone_is_told_of_and_not_waited_for(anyio_backend):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    del anyio_backend
    ray = ScriptedRay(address)
    with pytest.raises(UndeliveredError, match=rf"does not answer\. Nothing answers at '{address}'"):
        await Actors(ray, RayOptions()).find(0)
    assert ray.asked == []
