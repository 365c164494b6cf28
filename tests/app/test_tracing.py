"""A span a task, for hosts that trace; nothing is loaded for those that do not."""

import subprocess
import sys

import anyio
import pytest
from acting import ActingBackend
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ohm_subagents import Budget, ErrorCode, Ohm, OhmError
from ohm_subagents.contract import Usage, UsageAdded
from ohm_subagents.plugin import Err
from ohm_subagents.testing import HERMETIC, Step, quick_ohm

pytestmark = pytest.mark.anyio


@pytest.fixture
def spans(monkeypatch):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter


async def test_a_task_is_a_span_with_ids_and_counts_and_no_content(spans):
    step = Step(text="a secret answer", events=(UsageAdded(usage=Usage(requests=1, input_tokens=7)),))
    async with quick_ohm(step) as ohm:
        await ohm.run("finder", "a secret prompt", description="a secret task")

    [span] = spans.get_finished_spans()
    assert span.name == "ohm.task"
    assert span.attributes["ohm.task.id"] == "task_1"
    assert (span.attributes["ohm.profile"], span.attributes["ohm.status"]) == ("finder", "succeeded")
    assert (span.attributes["gen_ai.usage.input_tokens"], span.attributes["ohm.usage.requests"]) == (7, 1)
    assert "secret" not in span.to_json()


async def test_a_failure_is_an_error_with_its_code(spans):
    async with quick_ohm(Step(error=OhmError(code=ErrorCode.PROVIDER_TIMEOUT, message="A secret."))) as ohm:
        await ohm.run("finder", "p")

    [span] = spans.get_finished_spans()
    assert span.attributes["error.type"] == "provider_timeout"
    assert not span.status.is_ok
    assert "secret" not in span.to_json()


async def test_the_span_of_a_subagents_subagent_is_inside_that_of_its_parent_and_both_inside_the_callers(spans):
    async def act(request, sink):
        if request.description == "outer":
            answer = await ohm.run("finder", "p", description="inner", budget=Budget(depth=1))
            return answer if isinstance(answer, Err) else "done"
        await anyio.lowlevel.checkpoint()
        return "done"

    config = {"subagentBackend": "acting", "subagents": {"budget": {"depth": 2}}}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[ActingBackend(act)]) as ohm:
        with trace.get_tracer("host").start_as_current_span("host"):
            await ohm.run("finder", "p", description="outer")

    inner, outer, host = spans.get_finished_spans()
    assert (inner.parent.span_id, outer.parent.span_id) == (outer.context.span_id, host.context.span_id)
    assert inner.attributes["ohm.task.parent"] == outer.attributes["ohm.task.id"]


async def test_a_task_that_waited_in_line_is_inside_the_span_of_its_own_caller(spans):
    async with quick_ohm("a", "b", config={"subagents": {"maxRunning": 1}}) as ohm, anyio.create_task_group() as group:

        async def call(name):
            with trace.get_tracer("host").start_as_current_span(name):
                await ohm.run("finder", name)

        for name in ("first", "second"):
            group.start_soon(call, name)

    done = {span.context.span_id: span for span in spans.get_finished_spans()}
    parents = [done[span.parent.span_id].name for span in done.values() if span.name == "ohm.task"]
    assert sorted(parents) == ["first", "second"]


def test_opentelemetry_is_not_loaded_for_a_host_that_does_not_trace():
    script = """
import sys
from ohm_subagents import run_sync
from ohm_subagents.testing import HERMETIC
run_sync("finder", "p", config={"subagentBackend": "none"}, env=HERMETIC).ok_value
sys.exit(any(name.startswith("opentelemetry") for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
