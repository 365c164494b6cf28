"""`none`, the echo backend."""

import pytest

from ohm_subagents import Ohm
from ohm_subagents.backends.echo import ECHO
from ohm_subagents.testing import HERMETIC, BackendConformance, Scenarios


class TestEcho(BackendConformance):
    # It calls no tools.
    test_an_approved_call_runs_once_and_not_before = None
    test_a_denied_call_never_runs = None

    @pytest.fixture
    def spec(self):
        return ECHO

    @pytest.fixture
    def scenarios(self):
        return Scenarios(says="Hello", recalls=("And now?", "initial_prompt: Hello"))


@pytest.mark.anyio
async def test_the_answer_is_the_documented_six_lines():
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "none"}, cwd="proj") as ohm:
        envelope = (await ohm.run("finder", "p" * 300, description="Auth scan")).ok_value

    assert envelope.output.splitlines() == [
        "subagent: finder",
        "description: Auth scan",
        f"prompt: {'p' * 219}…",
        "backend: scaffold",
        "cwd: proj",
        "mode: smart",
    ]
    assert (envelope.backend, envelope.provider, envelope.runtime, envelope.route) == (
        "scaffold",
        "unavailable",
        "scaffold",
        "scaffold",
    )
    assert envelope.summary == "Finder: Auth scan"
