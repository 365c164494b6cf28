"""A real subagent through everything, against a scripted model server on loopback."""

import sys

import anyio
import psutil
import pytest
from advancing_loop import advance
from model_server import Call, Gate, ModelServer, Say, Stall, Status, Tokens

from ohm_subagents import ErrorCode, Limits, Ohm
from ohm_subagents.testing import HERMETIC, EventLog

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """pydantic-ai runs on asyncio only."""
    return "asyncio"


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "cut.py").write_text("def cut(text):\n    return text[:10]\n")
    return tmp_path


def opened(server, cwd, **subagents):
    config = {
        "providers": {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}},
        "subagents": {"model": "acme/small", **subagents},
    }
    return Ohm.open(cwd=cwd, config=config, env=HERMETIC | {"ACME_KEY": "secret-key"})


async def test_a_finder_works_through_two_tools_and_every_number_is_counted(tree):
    script = (
        Say("Let me look.", Call("grep", {"pattern": "def cut"}, id="c1"), tokens=Tokens(100, 10)),
        Say(Call("read", {"path": "src/cut.py"}, id="c2"), tokens=Tokens(200, 20, cached=50)),
        Say("It is in src/cut.py:1.", tokens=Tokens(300, 30)),
    )
    async with ModelServer(*script) as server, opened(server, tree) as ohm:
        envelope = (await ohm.run("finder", "Where is text cut?")).ok_value

    assert envelope.output == "It is in src/cut.py:1."
    assert (envelope.provider, envelope.model, envelope.runtime) == ("acme", "small", "pi-sdk")
    assert [row[:6] for row in envelope.tool_rows] == ["○ grep", "✓ grep", "○ read", "✓ read"]
    usage = envelope.usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.tool_calls) == (
        3,
        600,
        60,
        130,
        2,
    )
    offered = server.requests[0].tool_names
    assert sorted(offered) == ["code_search", "find", "grep", "ls", "read"]
    assert "Finder" in server.requests[0].messages[0]["content"]


@pytest.mark.skipif(sys.platform != "linux", reason="daemons are told by /proc")
async def test_a_daemon_that_a_subagent_starts_is_gone_when_its_tool_has_answered(tree):
    daemon = "setsid -f sh -c 'echo $$ > pid; echo > ready; exec sleep 300'"
    command = f"mkfifo ready; {daemon}; read line < ready; echo up"
    async with ModelServer(Say(Call("bash", {"command": command}, id="c1")), Say("done")) as server:
        async with opened(server, tree) as ohm:
            assert (await ohm.run("task", "Start it.")).ok_value.output == "done"
            assert not psutil.pid_exists(int((tree / "pid").read_text()))
        assert server.requests[1].tool_results == ["up"]


async def test_streamed_text_is_seen_before_the_answer_is_complete(tree):
    gate, log = Gate(), EventLog()
    async with ModelServer(Say("first ", gate, "second")) as server, opened(server, tree) as ohm:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: ohm.run("finder", "x", observer=log))
            await log.until(lambda task, _event: task.text == "first ")
            gate.open()

        assert ohm.task(log.entries[0][0].id).output == "first second"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Status(401), ErrorCode.PROVIDER_AUTHENTICATION),
        (Status(429), ErrorCode.PROVIDER_RATE_LIMITED),
        (Status(500), ErrorCode.PROVIDER_UNAVAILABLE),
        (Say(), ErrorCode.PROVIDER_EMPTY_RESPONSE),
    ],
)
async def test_a_provider_that_fails_is_never_a_success(tree, reply, code):
    async with ModelServer(reply, reply, reply) as server, opened(server, tree, requestRetries=0) as ohm:
        error = (await ohm.run("finder", "x")).err_value
        envelope = ohm.envelope(error.task_id)

    assert error.code == code
    assert (envelope.status, envelope.error_code) == ("failed", code)
    assert "secret-key" not in str(error)


class TestInMovedTime:
    @pytest.fixture
    def anyio_backend(self, moved_time):
        return moved_time

    async def test_a_timeout_keeps_what_was_said_and_closes_the_connection(self, tree):
        log, errors = EventLog(), []

        async def run(ohm):
            result = await ohm.run("finder", "x", limits=Limits(soft_ms=60_000), observer=log)
            errors.append(result.err_value)

        async with ModelServer(Say("so far ", Stall())) as server, opened(server, tree) as ohm:
            async with anyio.create_task_group() as group:
                group.start_soon(run, ohm)
                await log.until(lambda task, _event: task.text == "so far ")
                advance(60)
            await server.until(lambda seen: seen.aborts == 1)

            assert errors[0].code == ErrorCode.BACKEND_TIMEOUT
            assert ohm.envelope(errors[0].task_id).assistant_text == "so far"


async def test_cancelling_closes_the_connection_and_the_record_says_so(tree):
    log = EventLog()
    async with ModelServer(Say("so far ", Stall())) as server, opened(server, tree) as ohm:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: ohm.run("finder", "x", observer=log))
            await log.until(lambda task, _event: task.text == "so far ")
            group.cancel_scope.cancel()
        await server.until(lambda seen: seen.aborts == 1)

        assert ohm.task(log.entries[0][0].id).status == "cancelled"


@pytest.mark.parametrize("many", [15, pytest.param(50, marks=pytest.mark.slow)])
async def test_many_tasks_at_once_share_connections(tree, many):
    def reply(request):
        return Say(f"answer to {request.prompt}")

    tasks = [{"subagent_type": "finder", "description": "d", "prompt": f"question {n}"} for n in range(many)]
    async with ModelServer(reply) as server, opened(server, tree, taskMaxConcurrency=many) as ohm:
        first = await ohm.call("task", {"op": "start", "tasks": tasks, "parallel": True})
        used, usable = server.connections, server.most_connections(at_once=many)
        second = await ohm.call("task", {"op": "start", "tasks": tasks, "parallel": True})

        assert [item["output"] for item in first.details["items"]] == [f"answer to question {n}" for n in range(many)]
        assert second.details["batch_status"] == "completed"
        assert used <= usable
        assert server.connections <= server.most_connections(at_once=many)


async def test_a_follow_up_continues_the_conversation(tree):
    gate = Gate()
    async with ModelServer(Say("one", gate), Say("two")) as server, opened(server, tree) as ohm:
        handle = await ohm.start("finder", "first")
        async with anyio.create_task_group() as group:
            answers = []

            async def follow_up():
                answers.append(await handle.send("second"))

            await server.until(lambda seen: len(seen.requests) == 1)
            group.start_soon(follow_up)
            await anyio.wait_all_tasks_blocked()
            gate.open()

        said = [message["content"] for message in server.requests[1].messages if message["role"] != "system"]

    assert answers[0].ok_value.output == "two"
    assert said == ["first", "one", "second"]


async def test_a_follow_up_is_taken_into_the_run_that_goes_on(tree):
    gate, log = Gate(), EventLog()
    script = (Say("Let me look.", gate, Call("ls", {"path": "."}, id="c1")), Say("Both answers."))
    async with ModelServer(*script) as server, opened(server, tree) as ohm:
        async with anyio.create_task_group() as group:
            answers = []

            async def start():
                answers.append(await ohm.run("finder", "first", observer=log))

            async def follow_up():
                answers.append(await ohm.call("task", {"op": "send", "id": log.entries[0][0].id, "prompt": "second"}))

            group.start_soon(start)
            await log.until(lambda task, _event: task.text == "Let me look.")
            group.start_soon(follow_up)
            await log.until(lambda _task, event: event.kind == "follow_up_taken")
            gate.open()
        task = ohm.task(log.entries[0][0].id)

    assert len(task.runs) == 1
    assert task.runs[0].follow_ups == ("second",)
    assert server.requests[1].messages[-1] == {"role": "user", "content": "second"}
    outputs = {answer.details["output"] if hasattr(answer, "details") else answer.ok_value.output for answer in answers}
    assert outputs == {"Both answers."}


async def test_a_hundred_subagents_under_a_budget_of_ten_requests_make_exactly_ten(tree):
    task = {"subagent_type": "finder", "description": "d", "prompt": "p"}
    async with (
        ModelServer(lambda _: Say("Found it.")) as server,
        opened(server, tree, taskMaxConcurrency=100, budget={"requests": 10}) as ohm,
    ):
        details = (await ohm.call("task", {"op": "start", "tasks": [task] * 100, "parallel": True})).details

    statuses = [item["status"] for item in details["items"]]
    assert len(server.requests) == 10
    assert (statuses.count("succeeded"), statuses.count("failed")) == (10, 90)


async def test_a_provider_that_is_overloaded_is_asked_again_when_it_says_and_by_one_subagent_first(tree):
    task = {"subagent_type": "finder", "description": "d", "prompt": "p"}
    refused = []

    def script(asked):
        if len(refused) < 3:
            refused.append(asked)
            return Status(429, headers=(("Retry-After", "0.2"),))
        return Say("Found it.")

    async with ModelServer(script) as server, opened(server, tree, taskMaxConcurrency=10) as ohm:
        details = (await ohm.call("task", {"op": "start", "tasks": [task] * 10, "parallel": True})).details

    assert details["batch_status"] == "completed"
    assert len(server.requests) <= 10 + 10, "all may have been on their way when the first was refused, and none twice"


async def test_a_budget_of_money_has_nothing_against_a_model_that_is_free(tree):
    config = {"subagents": {"model": "local/search", "budget": {"costUsd": 1}}}
    async with Ohm.open(cwd=tree, config=config, env=HERMETIC) as ohm:
        assert (await ohm.run("finder", "cut")).ok_value.output


async def test_a_budget_of_money_for_a_model_without_a_price_is_refused_before_it_is_asked(tree):
    async with ModelServer() as server, opened(server, tree, budget={"costUsd": 1}) as ohm:
        error = (await ohm.run("finder", "cut")).err_value

    assert (error.code, server.requests) == (ErrorCode.BUDGET_UNENFORCEABLE, [])
    assert "'acme/small'" in error.message


@pytest.mark.parametrize(
    ("env", "kept"),
    [
        ({"HOME": "home"}, ["home/.cache/ohm-subagents/code-search"]),
        ({"HOME": "home", "XDG_CACHE_HOME": "caches"}, ["caches/ohm-subagents/code-search"]),
        ({}, []),
    ],
    ids=["home", "cache home", "nowhere"],
)
async def test_what_a_search_has_read_is_kept_in_the_cache_of_the_environment(tree, tmp_path_factory, env, kept):
    place = tmp_path_factory.mktemp("user")
    hermetic = {name: value for name, value in HERMETIC.items() if name != "XDG_CACHE_HOME"}
    env = hermetic | {name: str(place / value) for name, value in env.items()}
    async with Ohm.open(cwd=tree, config={"subagents": {"model": "local/search"}}, env=env) as ohm:
        assert "src/cut.py" in (await ohm.run("finder", "Where is text cut?")).unwrap().output
    assert [str(file.parent.relative_to(place)) for file in place.rglob("*.sqlite")] == kept
