"""One span a task, for hosts that trace, and spans of what it did inside; nothing is loaded for those that do not."""

import json
import os
import subprocess
import sys

import anyio
import pytest
from acting import ALL, ActingBackend
from model_server import Call, ModelServer, Say, Status, Tokens
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode
from recorded_spans import RecordedSpans, events, is_inside

from ohm_subagents import Approve, Budget, ErrorCode, LoopPolicy, Ohm, OhmError
from ohm_subagents.contract import TextDelta, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.plugin import Capability, Err, RequestNeed, RouteResolved, hookimpl
from ohm_subagents.shell import child_environment
from ohm_subagents.suite import Tool, ToolResult, ToolSuiteSpec
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio

UNTRACED = ALL - {Capability.TRACES}


@pytest.fixture
def spans(monkeypatch):
    return RecordedSpans(monkeypatch)


def acting(act, *, capabilities=UNTRACED, **subagents):
    config = {"subagentBackend": "acting", "subagents": subagents}
    backend = ActingBackend(act, capabilities=capabilities)
    return Ohm.open(env=HERMETIC, config=config, plugins=[backend])


async def test_a_task_is_one_invocation_of_an_agent_with_ids_and_counts_and_no_content(spans):
    step = Step(text="a secret answer", events=(UsageAdded(usage=Usage(requests=1, input_tokens=7)),))
    async with quick_ohm(step) as ohm:
        envelope = (await ohm.run("finder", "a secret prompt", description="a secret task")).ok_value

    span = spans.one("invoke_agent finder")
    assert (span.kind, span.status.status_code) == (SpanKind.INTERNAL, StatusCode.UNSET)
    assert span.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert span.attributes["ohm.task.id"] == "task_1"
    assert (span.attributes["ohm.profile"], span.attributes["ohm.status"]) == ("finder", "succeeded")
    assert span.attributes["gen_ai.conversation.id"] == span.attributes["ohm.session.id"] == envelope.session_id
    assert "secret" not in spans.as_json()


async def test_usage_is_counted_once_in_all_spans_of_a_task(spans):
    used = (Usage(requests=1, input_tokens=7, output_tokens=2), Usage(requests=1, input_tokens=30, output_tokens=4))
    async with quick_ohm(Step(text="done", events=tuple(UsageAdded(usage=one) for one in used))) as ohm:
        await ohm.run("finder", "p")

    counted = [span.attributes.get("gen_ai.usage.input_tokens", 0) for span in spans.all()]
    assert sum(counted) == 37
    task = spans.one("invoke_agent finder").attributes
    assert (task["gen_ai.aggregated_usage.input_tokens"], task["gen_ai.aggregated_usage.output_tokens"]) == (37, 6)
    assert task["ohm.usage.requests"] == 2


async def test_a_failure_is_an_error_with_its_code_and_without_what_was_said(spans):
    async with quick_ohm(Step(error=OhmError(code=ErrorCode.PROVIDER_TIMEOUT, message="A secret."))) as ohm:
        await ohm.run("finder", "p")

    span = spans.one("invoke_agent finder")
    assert span.attributes["error.type"] == "provider_timeout"
    assert span.status.status_code is StatusCode.ERROR
    assert "secret" not in spans.as_json()


async def test_a_task_that_another_ohm_goes_on_with_has_a_span_in_each(spans, tmp_path):
    async def act(request, sink):
        await request.gate.tool("edit", {"path": "a"})
        return "done"

    def opened():
        env = HERMETIC | {"PI_CONFIG_DIR": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "sqlite"}
        config = {"subagentBackend": "acting", "subagents": {"task": {"tools": {"ask": ["edit"]}}}}
        return Ohm.open(env=env, config=config, plugins=[ActingBackend(act, capabilities=UNTRACED)])

    async with opened() as ohm:
        handle = await ohm.start("task", "p")
        await anyio.wait_all_tasks_blocked()
        while not ohm.requests():
            await anyio.wait_all_tasks_blocked()
    async with opened() as ohm:
        [request] = ohm.requests()
        await ohm.answer(request.id, Approve())
        await ohm.handle(handle.id).wait()
    ended = [span.attributes.get("ohm.status") for span in spans.all() if span.name == "invoke_agent task"]
    assert ended == ["running", "succeeded"]


async def test_a_backend_that_raises_leaves_no_word_of_it_on_a_span(spans):
    async with quick_ohm(Step(crash=ValueError("a secret"))) as ohm:
        await ohm.run("finder", "p")

    assert spans.one("invoke_agent finder").attributes["error.type"] == "task_backend_execution_failed"
    assert "secret" not in spans.as_json()


async def test_a_cancelled_task_is_an_error_on_its_span_even_if_it_never_ran(spans):
    gate = anyio.Event()
    waiting = ScriptedBackend(default=Step(gate=gate))
    async with quick_ohm(backend=waiting, config={"subagents": {"maxRunning": 1}}) as ohm:
        running, queued = await ohm.start("finder", "a"), await ohm.start("oracle", "b")
        await queued.cancel()
        await running.cancel()

    for name in ("oracle", "finder"):
        span = spans.one(f"invoke_agent {name}")
        assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "task_aborted")
        assert span.attributes["ohm.status"] == "cancelled"


async def test_the_span_of_a_subagents_subagent_is_inside_that_of_its_parent_and_both_inside_the_callers(spans):
    async def act(request, sink):
        if request.description == "outer":
            answer = await ohm.run("oracle", "p", description="inner", budget=Budget(depth=1))
            return answer if isinstance(answer, Err) else "done"
        await anyio.lowlevel.checkpoint()
        return "done"

    async with acting(act, budget={"depth": 2}) as ohm:
        with trace.get_tracer("host").start_as_current_span("host"):
            await ohm.run("finder", "p", description="outer")

    inner, outer = spans.one("invoke_agent oracle"), spans.one("invoke_agent finder")
    assert is_inside(inner, outer)
    assert is_inside(outer, spans.one("host"))
    assert inner.attributes["ohm.task.parent"] == outer.attributes["ohm.task.id"]


async def test_a_task_that_waits_in_line_is_inside_the_span_of_its_own_caller_and_shows_when_it_began(spans):
    gate = anyio.Event()
    steps = (Step(gate=gate, text="a"), "b")
    async with quick_ohm(*steps, config={"subagents": {"maxRunning": 1}}) as ohm:
        for name in ("finder", "oracle"):
            with trace.get_tracer("host").start_as_current_span(name):
                newest = await ohm.start(name, name)
        gate.set()
        await newest.wait()

    for name in ("finder", "oracle"):
        assert is_inside(spans.one(f"invoke_agent {name}"), spans.one(name))
    queued, started, ended = spans.one("invoke_agent oracle").events
    assert [queued.name, started.name, ended.name] == ["task.queued", "run.started", "run.ended"]
    (before,) = (one for one in spans.one("invoke_agent finder").events if one.name == "run.ended")
    assert queued.timestamp < before.timestamp <= started.timestamp


async def test_a_process_that_a_backend_starts_is_in_the_span_of_its_task(spans):
    async def act(request, sink):
        await anyio.lowlevel.checkpoint()
        return child_environment(request)["TRACEPARENT"]

    async with acting(act) as ohm:
        given = (await ohm.run("finder", "p")).ok_value.output

    task = spans.one("invoke_agent finder").context
    assert given == f"00-{task.trace_id:032x}-{task.span_id:016x}-{task.trace_flags:02x}"


async def test_a_call_that_goes_on_by_itself_is_inside_the_span_in_which_it_began(spans):
    async with quick_ohm("done") as ohm:
        with trace.get_tracer("host").start_as_current_span("host"):
            asked = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}
            call = await ohm.begin("task", asked)
        await call.wait()

    assert is_inside(spans.one("invoke_agent finder"), spans.one("host"))


async def test_requests_and_tool_calls_of_a_backend_that_does_not_trace_itself_are_spans(spans):
    script = (
        RouteResolved(provider="acme", model="m1"),
        UsageAdded(usage=Usage(requests=1, input_tokens=7, output_tokens=3, cached_tokens=2)),
        ToolStarted(call_id="c1", tool="grep", args='{"pattern": "a secret"}'),
        ToolStarted(call_id="c2", tool="read"),
        ToolEnded(call_id="c1", tool="grep", status="success", text="a secret"),
        ToolEnded(call_id="c2", tool="read", status="error", text="a secret"),
        TextDelta(text="a secret"),
        UsageAdded(usage=Usage(requests=1)),
    )
    async with quick_ohm(Step(text="done", events=script)) as ohm:
        await ohm.run("finder", "p")

    task = spans.one("invoke_agent finder")
    assert [span.name for span in spans.all()] == [
        "chat m1",
        "execute_tool grep",
        "execute_tool read",
        "chat m1",
        "invoke_agent finder",
    ]
    assert all(is_inside(span, task) for span in spans.all() if span is not task)
    first, second = spans.named("chat m1")
    assert (first.kind, first.attributes["gen_ai.provider.name"]) == (SpanKind.CLIENT, "acme")
    assert first.attributes["gen_ai.usage.cache_read.input_tokens"] == 2
    grep, read = spans.one("execute_tool grep"), spans.one("execute_tool read")
    assert first.end_time <= grep.start_time <= grep.end_time <= second.start_time <= second.end_time
    assert (grep.attributes["gen_ai.tool.name"], grep.attributes["gen_ai.tool.call.id"]) == ("grep", "c1")
    assert (grep.status.status_code, read.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)
    assert {span.attributes["gen_ai.conversation.id"] for span in spans.all()} == {task.attributes["ohm.session.id"]}
    assert "secret" not in spans.as_json()


async def test_a_call_that_was_cut_off_ends_as_an_error(spans):
    async with quick_ohm(Step(events=(ToolStarted(call_id="c1", tool="grep"),), gate=anyio.Event())) as ohm:
        handle = await ohm.start("finder", "p")
        with anyio.fail_after(5):
            async for event in handle.events():
                if isinstance(event, ToolStarted):
                    await handle.cancel()

    assert spans.one("execute_tool grep").attributes["error.type"] == "tool_interrupted"


async def test_a_backend_that_traces_itself_gets_no_spans_of_ours_until_another_takes_over(spans):
    called = (ToolStarted(call_id="c1", tool="grep"), ToolEnded(call_id="c1", tool="grep", status="success"))

    async def act(request, sink):
        await anyio.lowlevel.checkpoint()
        for event in (*called, RouteResolved(route="acting"), UsageAdded(usage=Usage(requests=1))):
            sink.emit(event)
        if request.prompt == "hand over":
            for event in (RouteResolved(route="another"), *called):
                sink.emit(event)
        return "done"

    async with acting(act, capabilities=ALL) as ohm:
        await ohm.run("finder", "p")
        assert [span.name for span in spans.all()] == ["invoke_agent finder"]
        await ohm.run("oracle", "hand over")

    assert is_inside(spans.one("execute_tool grep"), spans.one("invoke_agent oracle"))


async def test_a_guard_that_steps_in_is_an_event_of_the_span(spans):
    async def act(request, sink):
        await anyio.lowlevel.checkpoint()
        for call in range(9):
            sink.emit(ToolStarted(call_id=f"c{call}", tool="grep", args="a secret"))
            sink.emit(ToolEnded(call_id=f"c{call}", tool="grep", status="success", text="the same"))
        await anyio.sleep_forever()

    async with acting(act) as ohm:
        await ohm.run("finder", "p", loop=LoopPolicy(identical_calls=3, steps=("warn", "stop")))

    seen = events(spans.one("invoke_agent finder"))
    tripped = [
        about["ohm.guard.step"] for name, about in seen if name == "guard.tripped" and about["ohm.guard"] == "loop"
    ]
    assert tripped == ["warn", "stop"]
    assert spans.one("invoke_agent finder").attributes["ohm.stopped_by"] == "loop"
    assert "secret" not in spans.as_json()


async def test_a_request_that_is_held_shows_why_and_until_when(spans):
    first_has_it, may_end = anyio.Event(), anyio.Event()

    async def act(request, sink):
        async with request.gate.request(RequestNeed(provider="acme", model="m", input_tokens=1)):
            first_has_it.set()
            if request.profile.id == "finder":
                await may_end.wait()
        return "done"

    async with acting(act, maxRequests={"acme": 1}) as ohm:
        await ohm.start("finder", "a")
        await first_has_it.wait()
        second = await ohm.start("oracle", "b")
        async for event in second.events():
            if event.kind == "request_held":
                may_end.set()

    seen = events(spans.one("invoke_agent oracle"))
    assert ("request.held", {"gen_ai.provider.name": "acme", "ohm.held.why": "slots"}) in seen
    assert [name for name, _ in seen if name.startswith("request")] == ["request.held", "request.released"]


class TestInProcess:
    """The backend that traces itself, on a model server of our own."""

    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"

    @staticmethod
    def opened(server, cwd, *, plugins=(), **subagents):
        config = {
            "providers": {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}},
            "subagents": {"model": "acme/small", **subagents},
        }
        return Ohm.open(
            cwd=cwd,
            config=config,
            env=HERMETIC | {"ACME_KEY": "the-key"},
            plugins=plugins,
            suites=[one.name for one in plugins],
        )

    async def test_its_requests_and_tool_calls_are_inside_the_one_invocation_and_say_nothing(self, spans, tmp_path):
        script = (
            Say("the-words", Call("grep", {"pattern": "the-arguments"}, id="c1"), tokens=Tokens(100, 10)),
            Say("the-answer", tokens=Tokens(200, 20)),
            Say("the-second-answer", tokens=Tokens(300, 30)),
        )
        async with ModelServer(*script) as server, self.opened(server, tmp_path) as ohm:
            session = (await ohm.run("finder", "the-prompt")).ok_value.session_id
            handle = await ohm.start("finder", "the-prompt")
            await handle.wait()

        first, second = spans.named("invoke_agent finder")
        inside = [span for span in spans.all() if is_inside(span, first)]
        assert [span.name for span in inside] == ["chat small", "execute_tool grep", "chat small"]
        assert [span.name for span in spans.all() if is_inside(span, second)] == ["chat small"]
        assert {span.attributes["gen_ai.conversation.id"] for span in (first, *inside)} == {session}
        assert {span.attributes["gen_ai.agent.name"] for span in inside} == {"finder"}
        assert sum(span.attributes.get("gen_ai.usage.input_tokens", 0) for span in spans.all()) == 600
        assert first.attributes["gen_ai.aggregated_usage.input_tokens"] == 300
        assert inside[0].attributes["gen_ai.client.operation.time_to_first_chunk"] > 0
        assert all("gen_ai.tool.definitions" not in span.attributes for span in spans.all())
        said = ("the-words", "the-arguments", "the-answer", "the-second-answer", "the-prompt", "the-key")
        assert [word for word in said if word in spans.as_json()] == []
        assert server.requests[0].tool_names, "the model was offered its tools all the same"

    async def test_a_provider_s_error_is_an_error_without_its_text(self, spans, tmp_path):
        async with ModelServer(Status(401, "No, the-key is wrong")) as server, self.opened(server, tmp_path) as ohm:
            await ohm.run("finder", "the-prompt")

        task, request = spans.one("invoke_agent finder"), spans.one("chat small")
        assert (task.attributes["error.type"], request.status.status_code) == (
            "provider_authentication_failed",
            StatusCode.ERROR,
        )
        assert "the-key" not in spans.as_json()

    async def test_a_command_that_a_subagent_runs_is_inside_the_call_of_its_tool(self, spans, tmp_path):
        script = (Say(Call("bash", {"command": "printf %s $TRACEPARENT"}, id="c1")), Say("done"))
        async with ModelServer(*script) as server, self.opened(server, tmp_path) as ohm:
            await ohm.run("task", "p")

        call = spans.one("execute_tool bash").context
        assert server.requests[1].tool_results == [
            f"00-{call.trace_id:032x}-{call.span_id:016x}-{call.trace_flags:02x}"
        ]

    async def test_a_subagent_that_a_tool_starts_is_inside_the_call_of_the_tool(self, spans, tmp_path):
        class Nesting:
            name = "nesting"

            @hookimpl
            def ohm_tool_suites(self):
                return [ToolSuiteSpec(name=self.name, summary="", build=lambda _: (nest,), audience="child")]

        async def execute(call):
            del call
            answer = await ohm.run("oracle", "p", backend="none", budget=Budget(depth=1))
            return ToolResult(text=answer.ok_value.status, details={})

        nest = Tool(
            name="nest",
            label="nest",
            description="Start another.",
            input_schema={"type": "object"},
            execute=execute,
            call_view=lambda _arguments, _theme: "nest",
        )
        script = (Say(Call("nest", {}, id="c1")), Say("done"))
        async with (
            ModelServer(*script) as server,
            self.opened(server, tmp_path, plugins=[Nesting()], budget={"depth": 2}, task={"tools": ["nest"]}) as ohm,
        ):
            await ohm.run("task", "p")

        assert is_inside(spans.one("invoke_agent oracle"), spans.one("execute_tool nest"))
        assert is_inside(spans.one("execute_tool nest"), spans.one("invoke_agent task"))


TRACING_COMMAND = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
trace.set_tracer_provider(provider)
from ohm_subagents.cli.main import main
main()
"""


@pytest.mark.slow
def test_a_command_of_ohm_is_in_the_span_that_its_environment_names(tmp_path):
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    env = HERMETIC | {"PATH": os.environ["PATH"], "TRACEPARENT": f"00-{trace_id}-{span_id}-01"}
    command = [sys.executable, "-c", TRACING_COMMAND, "run", "finder", "x", "--backend", "none"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    span = json.loads(done.stderr)
    assert (span["name"], span["parent_id"]) == ("invoke_agent finder", f"0x{span_id}")
    assert span["context"]["trace_id"] == f"0x{trace_id}"


@pytest.mark.slow
def test_opentelemetry_is_not_loaded_for_a_host_that_does_not_trace():
    script = """
import sys
from ohm_subagents import run_sync
from ohm_subagents.testing import HERMETIC
run_sync("finder", "p", config={"subagentBackend": "none"}, env=HERMETIC).ok_value
sys.exit(any(name.startswith("opentelemetry") for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
