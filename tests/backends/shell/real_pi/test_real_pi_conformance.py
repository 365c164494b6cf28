"""A real pi keeps the backend law, on a model server: kept running where it can be, one process a prompt where not."""

import os

import pytest
from loops import one_loop
from model_server import Call, ModelServer, Say, Stall, Status
from real_pi import NEW, NEWEST, OLD, installed
from subagent_runs import ENV, acme

from ohm_subagents.backends.pi.options import PiOptions
from ohm_subagents.backends.pi.spec import interactive_shell_spec
from ohm_subagents.contract import ModelPattern
from ohm_subagents.testing import BackendConformance, Scenarios

pytestmark = [pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]


def scripted(asked):
    match asked.prompt.split()[0], len(asked.tool_results):
        case "hang", _:
            return Say("I am ", Stall())
        case "fail", _:
            return Status(400)
        case "tools", 0:
            return Say(Call("ls"), Call("bash", {"command": "echo hello"}))
        case "run", 0:
            return Say(Call("bash", {"command": "echo ran >> conformance_runs"}))
        case "recall", _:
            return Say("You said: ", str(asked.messages[1]["content"]))
        case _:
            return Say("It is done: ", asked.prompt)


class Place:
    version = ""

    @pytest.fixture
    def server(self):
        with ModelServer(scripted) as server:
            yield server

    @pytest.fixture
    def spec(self, server):
        return interactive_shell_spec([acme(server)])

    @pytest.fixture
    def options(self):
        return PiOptions(command=installed(self.version).command, env={**ENV, "PATH": os.environ["PATH"]})

    @pytest.fixture
    def scenarios(self, tmp_path):
        return Scenarios(
            says="say elderberry",
            hangs="hang",
            fails="fail",
            calls_two_tools="tools",
            recalls=("recall", "elderberry"),
            calls_bash="run",
            tools=("ls", "bash"),
            model=ModelPattern(provider="acme", model="m1"),
            cwd=tmp_path,
        )


class TestNewest(Place, BackendConformance):
    # The newest is here as one file, without what loads extensions.
    test_an_approved_call_runs_once_and_not_before = None
    test_a_denied_call_never_runs = None
    version = NEWEST

    @pytest.fixture
    def anyio_backend(self):
        return "trio"  # the old one is on asyncio


@pytest.mark.anyio
@one_loop
class TestNew(Place):
    """It stays, as the newest does, and loads extensions, by which it asks."""

    version = NEW
    backend = BackendConformance.backend
    test_an_approved_call_runs_once_and_not_before = BackendConformance.test_an_approved_call_runs_once_and_not_before
    test_a_denied_call_never_runs = BackendConformance.test_a_denied_call_never_runs
    test_a_follow_up_sees_the_session = BackendConformance.test_a_follow_up_sees_the_session


class TestOld(Place, BackendConformance):
    # It cannot stay, so it cannot be asked.
    test_an_approved_call_runs_once_and_not_before = None
    test_a_denied_call_never_runs = None
    version = OLD

    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"
