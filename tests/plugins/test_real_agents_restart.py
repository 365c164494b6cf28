"""The real agents over a kill -9: a call that waited is made once after its approval, in the agent's own session."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import anyio
import asking_agents
import pytest
from agent_models import agent_model
from anyio import to_thread
from asking_agents import REAL, Real, opened
from forking import forked
from pi_desk import is_gone
from real_agents import PATIENCE_S

from ohm_subagents import Answer, Approve, Deny, Request

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * PATIENCE_S), pytest.mark.anyio]
UNASKED = "pwd >> begun"
RUNS = {
    "Run a.": (UNASKED, "echo a1 >> ran", "echo a2 >> ran"),
    "Run b.": (UNASKED, "echo b1 >> ran", "echo b2 >> ran"),
    "Run c.": (UNASKED, "echo c1 >> ran", "echo a1 >> ran"),
}
INTERRUPTED = "You were interrupted while you waited for an answer."
APPROVED = re.compile(r"with the arguments (\{.*\}) is approved: make it now, exactly so, once")
EXPIRY_MS = 4_000


@pytest.fixture
def anyio_backend() -> str:
    """A process takes real time."""
    return "asyncio"


def texts_in(part: Any) -> list[str]:
    """All texts of a message, and the arguments of its calls, of whatever protocol."""
    if isinstance(part, dict):
        return [text for value in part.values() for text in texts_in(value)]
    if isinstance(part, list):
        return [text for value in part for text in texts_in(value)]
    return [part] if isinstance(part, str) else []


class Runner:
    """A model that runs the commands of its prompt in order, and once more what the newest message says is approved.

    An agent that has lost its owner may go on for a moment, with calls that nobody is there to let through: it takes
    those that its conversation shows after the one that waited for not made.
    """

    def __init__(self, real: Real) -> None:
        self._real = real
        self.resumed: list[str] = []
        """The conversations that ended with an approval or a denial, as they were then."""

    def __call__(self, messages: Any) -> tuple[str, dict[str, str]] | None:
        """Return the next call after a conversation, or None to answer."""
        said = "\n".join(texts_in(messages))
        newest = "\n".join(texts_in(messages[-1]))
        if INTERRUPTED in newest:
            self.resumed.append(said)
        if (approved := APPROVED.search(newest)) is not None:
            return f"={self._real.shell}", json.loads(approved[1])
        commands = next((commands for prompt, commands in RUNS.items() if prompt in said), ())
        since = said.rpartition(INTERRUPTED)[2]
        reached = max((number for number, one in enumerate(commands, 1) if one in since), default=0)
        return self._real.call(commands[reached]) if reached < len(commands) else None


class Person:
    """Approves `a2`, and is away for all else."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, request: Request) -> Answer:
        self.asked.append(command_of(request))
        if "a2" not in request.arguments:
            await anyio.sleep_forever()
        return Approve()


def command_of(request: Request) -> str:
    return json.loads(request.arguments)["command"]


@pytest.mark.parametrize("agent", ["pi", "claude", "claude-acp"])  # opencode takes four times as long
async def test_three_runners_at_depth_three_and_a_kill_between_their_approvals(agent: str, tmp_path: Path) -> None:
    """One call is approved for good, one is denied, one expires."""
    real, person, model = REAL[agent], Person(), Runner(REAL[agent])
    first = {"echo a1 >> ran": Approve("always"), "echo b1 >> ran": Approve(), "echo c1 >> ran": Deny("Not this one.")}
    with agent_model(script=model) as server:
        with forked(asking_agents.__file__, agent, tmp_path, server.url, *RUNS) as process:
            said = json.loads(await to_thread.run_sync(process.stdout.readline))
            process.kill()
        assert not (tmp_path / "work" / "ran").exists()
        async with opened(real, server.url, tmp_path, expire_ms=EXPIRY_MS, approvals=person) as ohm:
            waiting = {command_of(one): one for one in ohm.requests()}
            assert {one.id for one in waiting.values()} == {*said["requests"]}
            assert {len(one.path) for one in waiting.values()} == {3}
            for command, answer in first.items():
                (await ohm.answer(waiting[command].id, answer)).unwrap()
            left = [pid for pid in said["pids"] if not await to_thread.run_sync(is_gone, pid, 60.0)]
            ended = {command: (await ohm.handle(one.task_id).wait()) for command, one in waiting.items()}
    assert left == []
    assert {one.unwrap().status for one in ended.values()} == {"succeeded"}
    assert Counter((tmp_path / "work" / "ran").read_text().split()) == {"a1": 2, "a2": 1, "b1": 1}
    assert len((tmp_path / "work" / "begun").read_text().splitlines()) == 3
    assert [one for one in model.resumed if UNASKED not in one] == [], "the session was lost"
    assert len(model.resumed) == 3
    assert sorted(one for one in person.asked if one not in first) == ["echo a2 >> ran", "echo b2 >> ran"]
