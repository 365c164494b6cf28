"""The in-process backend keeps the backend law, against a model server and with the embedded search model."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from model_server import Call, ModelServer, Reply, Request, Say, Stall, Status
from remote_backends import behind
from subagent_runs import ENV, EventLog, acme, answer, error, offering, request

from ohm_subagents._plugins.backends.interface import BackendSpec
from ohm_subagents.backends.in_process.options import InProcessOptions
from ohm_subagents.backends.in_process.providers import custom_model_specs
from ohm_subagents.backends.in_process.search.model import search_model_spec
from ohm_subagents.backends.in_process.spec import interactive_sdk_spec
from ohm_subagents.contract import ErrorCode, ModelPattern, RouteResolved, ToolEnded
from ohm_subagents.testing import BackendConformance, Scenarios


def scripted(asked: Request) -> Reply:
    match asked.prompt.split()[0], len(asked.tool_results):
        case "hang", _:
            return Say("I am ", Stall())
        case "fail", _:
            return Status(500)
        case "tools", 0:
            return Say(Call("ls"), Call("find", {"pattern": "*.md"}))
        case "note", 0:
            return Say(Call("conformance_note", {"text": "seen"}))
        case "run", 0:
            return Say(Call("bash", {"command": "echo ran >> conformance_runs"}))
        case "recall", _:
            return Say("You said: ", asked.messages[1]["content"])
        case _:
            return Say("It is done: ", asked.prompt)


class TestInProcessBackend(BackendConformance):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def server(self) -> Iterator[ModelServer]:
        with ModelServer(scripted) as server:
            yield server

    @pytest.fixture
    def spec(self, server: ModelServer) -> BackendSpec[InProcessOptions]:
        return interactive_sdk_spec(offering(*custom_model_specs([acme(server)], ENV), env=ENV))

    @pytest.fixture
    def scenarios(self, tmp_path: Path) -> Scenarios:
        return Scenarios(
            says="say elderberry",
            hangs="hang",
            fails="fail",
            calls_two_tools="tools",
            recalls=("recall", "elderberry"),
            calls_child_tool="note",
            calls_bash="run",
            tools=("ls", "find"),
            model=ModelPattern(provider="acme", model="m1"),
            cwd=tmp_path,
        )


@pytest.mark.anyio
async def test_the_embedded_search_model_runs_through_the_same_backend(tmp_path: Path) -> None:
    code = '"""Cut task output."""\n\n\ndef cap(text: str) -> str:\n    return text[:9]\n'
    (tmp_path / "truncation.py").write_text(code)
    log = EventLog()
    spec = interactive_sdk_spec(offering(search_model_spec(), env={}))
    asked = request(
        "Where is task output truncated?",
        cwd=tmp_path,
        tools=("read", "grep", "find", "ls", "code_search"),
        model=ModelPattern(provider="local", model="search"),
    )
    async with spec.open(InProcessOptions()) as backend:
        outcome = await backend.run(asked, log)
    assert "truncation.py" in answer(outcome)
    assert [(route.provider, route.model) for route in log.of(RouteResolved)] == [("local", "search")]
    assert log.of(ToolEnded)


@pytest.mark.anyio
async def test_a_search_model_that_cannot_search_fails_and_says_what_to_do(tmp_path: Path) -> None:
    spec = interactive_sdk_spec(offering(search_model_spec(), env={}))
    pattern = ModelPattern(provider="local", model="search")
    async with spec.open(InProcessOptions()) as backend:
        failed = error(await backend.run(request(cwd=tmp_path, tools=("read",), model=pattern), EventLog()))
    assert failed.code == ErrorCode.BACKEND_FAILED
    assert str(failed) == (
        'Model "local/search" could not search: The tool code_search was not given to this subagent. '
        "Allow this subagent the tool code_search and a directory that it can read; or set OHM_MODEL, or "
        "subagents.model in ohm.json, to a language model such as anthropic/claude-sonnet-5-5."
    )


@pytest.mark.slow
class TestRemoteInProcessBackend(TestInProcessBackend):
    test_preparing_answers_with_a_result = None  # the runner prepares its backend itself

    @pytest.fixture
    def spec(self, server: ModelServer) -> BackendSpec[InProcessOptions]:
        return behind(interactive_sdk_spec(offering(*custom_model_specs([acme(server)], ENV), env=ENV)))
