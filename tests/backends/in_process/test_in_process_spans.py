"""A host that set an OpenTelemetry tracer provider gets the GenAI spans of every run, and no word of what was said."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from subagent_runs import KEY

from ohm_subagents.backends.in_process.tracing import traced

# The tracer provider is global to a process and can be set only once: so the host is a process of its own.
HOST = """
import json
import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from model_server import Call, ModelServer, Say, Status
from subagent_runs import KEY, EventLog, acme, child_tool, opened, request
from ohm_subagents._plugins.suites.tool import ToolResult

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
ENDS = {"answered": Say("the-answer"), "refused": Status(401, "No, the-key " + KEY)}

async def main(last):
    look = child_tool("look", ToolResult(text="the-failure", details={}, is_error=True))
    asked = request("the-prompt", instructions="the-instructions", child_tools=(look,))
    script = (Say("the-words", Call("look", {"ctx": "the-arguments"}), Call("look", raw="{the-raw-arguments")), last)
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        await backend.run(asked, EventLog())

def spans_of(last):
    exporter.clear()
    anyio.run(main, last)
    return [json.loads(span.to_json()) for span in exporter.get_finished_spans()]

print(json.dumps({end: spans_of(last) for end, last in ENDS.items()}))
"""
SAID = ("the-prompt", "the-instructions", "the-words", "the-arguments", "the-raw-arguments", "the-failure")
SUPPORT = Path(__file__).parents[2] / "support"


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[dict]]:
    """The spans of a run that is answered, and of one that is refused."""
    ran = subprocess.run(
        [sys.executable, "-c", HOST], capture_output=True, text=True, check=False, cwd=SUPPORT, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["answered", "refused"])
def test_the_host_s_tracer_gets_the_spans_of_a_run_without_what_was_said(
    end: str, recorded: dict[str, list[dict]]
) -> None:
    spans = recorded[end]
    assert {span["name"] for span in spans} == {"chat m1", "execute_tool look"}, "the span of the agent is the engine's"
    assert {span["parent_id"] for span in spans} == {None}
    first, *_, last = (span for span in spans if span["name"] == "chat m1")
    assert first["attributes"]["gen_ai.client.operation.time_to_first_chunk"] > 0
    assert last["status"]["status_code"] == ("UNSET" if end == "answered" else "ERROR")
    assert {span["attributes"]["gen_ai.conversation.id"] for span in spans} == {"session"}
    assert [word for word in (*SAID, "the-answer", "the-key", KEY) if word in json.dumps(spans)] == []


def test_without_a_tracer_provider_nothing_is_traced() -> None:
    assert traced() == ()
