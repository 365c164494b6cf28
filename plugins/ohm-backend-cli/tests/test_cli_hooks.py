"""The plugin for its host, and the cost of asking for it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cli_streams import asked

from ohm_backend_cli import ohm_backends
from ohm_backend_cli.agent import Agent, named
from ohm_subagents.plugin import BackendContext, Capability, Ok, Usage
from ohm_subagents.shell import Ended, Invocation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ohm_backend_cli.run_state import RunState
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.plugin import JsonObject


def test_there_is_a_backend_for_each_cli() -> None:
    specs = {spec.id: spec for spec in ohm_backends(BackendContext())}
    assert list(specs) == ["claude", "codex", "opencode", "gemini", "qwen"]
    wanted = frozenset({Capability.SESSIONS, Capability.USAGE, Capability.FILES, Capability.SANDBOX})
    taking = {id for id, spec in specs.items() if spec.capabilities == wanted | {Capability.CHILD_TOOLS}}
    assert taking == {"codex", "opencode", "qwen"}
    assert specs["claude"].capabilities == wanted | {Capability.CHILD_TOOLS, Capability.CALL_RULES}
    assert specs["gemini"].capabilities == wanted


def test_a_backend_of_the_same_agent_stays_open() -> None:
    one, other = BackendContext(), BackendContext(env={"A": "b"})
    assert [spec.open for spec in ohm_backends(one)] == [spec.open for spec in ohm_backends(other)]


@pytest.mark.slow
def test_asking_for_the_backends_loads_no_model_library_and_nothing_that_runs_an_agent() -> None:
    code = (
        "import sys, ohm_backend_cli; from ohm_subagents.plugin import BackendContext;"
        "list(ohm_backend_cli.ohm_backends(BackendContext()));"
        "models = {'pydantic_ai', 'openai', 'mcp', 'uvicorn'};"
        "print((models | {'ohm_backend_cli.agent', 'ohm_subagents.shell.process'}) & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_another_cli_is_a_table_and_a_few_names(tmp_path: Path) -> None:
    def start(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
        yield from run.begins(str(record["session"]))

    def end(record: JsonObject, run: RunState) -> Iterator[RunEvent]:
        yield from run.spends(Usage(requests=1, output_tokens=7))
        yield from run.ends()

    tools = {"read": "cat", "bash": "sh"}
    parrot = Agent(
        id="parrot",
        product="Parrot",
        install="npm install -g parrot",
        tools=tools,
        arguments=lambda start: [*named(start.request, tools), *([start.session] if start.session else [])],
        table={"start": start, "say": lambda record, run: run.says(str(record["text"])), "end": end},
    ).dialect()

    invocation = Invocation(request=asked(tools=("read", "grep")), folder=tmp_path)
    reader = parrot.reader(invocation)
    said = [b'{"type":"start","session":"p-1"}', b'{"type":"say","text":"Hello."}', b'{"type":"end"}']
    kinds = [event.kind for line in said for event in reader.read(line)]
    assert list(parrot.arguments(invocation)) == ["cat"]
    assert kinds == [
        *("route_resolved", "diagnostic_raised", "checkpointed", "text_delta", "usage_added", "checkpointed"),
        "agent_ended",
    ]
    outcome = reader.outcome(Ended(code=0))
    assert isinstance(outcome, Ok)
    assert outcome.ok_value.text == "Hello."
