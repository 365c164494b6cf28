"""The ends of runs in a scripted agent: failures, cancellations, and a host that is killed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest
from acp_stage import READER, Stage, answered, command_of, failed, told

from ohm_acp.hooks import instance
from ohm_acp.options import AcpOptions
from ohm_subagents.contract import SessionId, TaskId
from ohm_subagents.plugin import ErrorCode, RunRequest, RunSpec, TextDelta, UsageAdded

pytestmark = pytest.mark.anyio
slow = pytest.mark.slow  # a process each; what stays quick has one of each kind


@pytest.fixture
def anyio_backend() -> str:
    """The ACP library runs on asyncio only."""
    return "asyncio"


@pytest.mark.parametrize(
    ("prompt", "code", "fact"),
    [
        (
            "crash",
            ErrorCode.BACKEND_FAILED,
            "mine failed: it ended with exit code 3 before it had answered: Error: out of luck.",
        ),
        pytest.param(
            "closed", ErrorCode.BACKEND_FAILED, "mine failed: it closed its output before it had answered.", marks=slow
        ),
        (
            "error",
            ErrorCode.PROVIDER_REQUEST_REJECTED,
            "mine: the model rejected the request (HTTP 400): Internal error: API Error: 400 bad model ***.",
        ),
        pytest.param("shrug", ErrorCode.BACKEND_FAILED, "mine failed: {}.", marks=slow),
        pytest.param("nothing", ErrorCode.PROVIDER_EMPTY_RESPONSE, "mine gave an empty answer.", marks=slow),
        pytest.param("reason refusal", ErrorCode.CONTENT_FILTERED, "mine: the model refused to answer.", marks=slow),
        pytest.param(
            "reason max_turn_requests",
            ErrorCode.USAGE_LIMIT_EXCEEDED,
            "mine reached its limit of requests before it had answered.",
            marks=slow,
        ),
        pytest.param(
            "reason cancelled",
            ErrorCode.BACKEND_FAILED,
            "mine failed: it stopped by itself before it had answered.",
            marks=slow,
        ),
        (
            "reason tired",
            ErrorCode.BACKEND_FAILED,
            'mine failed: it stopped for the reason "tired", which this backend does not know.',
        ),
    ],
)
async def test_a_failure_is_one_sentence_and_what_was_said_is_kept(
    tmp_path: Path, prompt: str, code: ErrorCode, fact: str
) -> None:
    async with Stage(tmp_path).ohm() as ohm:
        with anyio.fail_after(30):
            error = await failed(ohm, prompt)
        task = ohm.task(error.task_id or "")
    assert (error.code, error.message) == (code, fact)
    assert error.exit_code == (3 if prompt == "crash" else None)
    said = {"crash": "Half an ans", "reason": "Some words."}
    assert task is not None
    assert task.text == said.get(prompt.split(maxsplit=1)[0], "")


@pytest.mark.parametrize(
    ("word", "fact"),
    [
        ("future", "mine speaks version '2027-01-01' of the Agent Client Protocol, and this backend version 1."),
        pytest.param(
            "says-nothing",
            "mine failed: it ended with exit code 1 before it had answered: usage: agent [--acp].",
            marks=slow,
        ),
        pytest.param("auth", "mine is not logged in and has no key.", marks=slow),
    ],
)
async def test_an_agent_that_cannot_begin_is_one_sentence(tmp_path: Path, word: str, fact: str) -> None:
    async with Stage(tmp_path, (word,)).ohm() as ohm:
        error = await failed(ohm, "Say hello.")
    assert error.message == fact
    assert error.advice


@slow
async def test_an_answer_that_was_cut_off_is_an_answer_with_a_warning(tmp_path: Path) -> None:
    async with Stage(tmp_path).ohm() as ohm:
        envelope = await answered(ohm, "reason max_tokens")
    assert envelope.output == "Some words."
    assert "The answer was cut off at the model's output token limit." in told(envelope)


async def test_garbage_and_floods_and_requests_for_what_we_do_not_have_cost_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm() as ohm:
        envelope = await answered(ohm, "Send garbage and a flood and requests please")
    assert envelope.output == "Hello from the agent."
    assert stage.noted("refused") == [-32601]


@pytest.mark.parametrize(("prompt", "used"), [("hang", 100), pytest.param("hang deaf", 0, marks=slow)])
async def test_a_cancelled_run_ends_soon_and_tells_what_it_used_if_the_agent_says(
    tmp_path: Path, prompt: str, used: int
) -> None:
    stage, sink = Stage(tmp_path), Heard()
    began: list[float] = []
    async with instance("mine").open(AcpOptions(command=command_of(tmp_path), agent="claude", grace_ms=200)) as backend:
        async with anyio.create_task_group() as group:
            group.start_soon(backend.run, request_of(prompt, tmp_path), sink)
            await sink.spoke.wait()
            group.cancel_scope.cancel()
            began.append(time.thread_time())
        assert time.thread_time() - began[0] < 0.1  # of our own work; 0.05 s of waiting come to it at most
    assert stage.noted("heard") == ["session/cancel"]
    assert sum(one.usage.input_tokens for one in sink.events if isinstance(one, UsageAdded)) == used


@pytest.mark.parametrize("how", [("hang deaf",), ("hang", "hang-at-start")])
@slow
async def test_an_agent_that_hears_nothing_is_left_nowhere(tmp_path: Path, how: tuple[str, ...]) -> None:
    prompt, *words = how
    stage = Stage(tmp_path, tuple(words))
    async with stage.ohm() as ohm:
        with anyio.move_on_after(0.5):
            await ohm.run("reader", prompt)
    assert agents_in(tmp_path) == []


HOST = """
import anyio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from acp_stage import Stage

async def main():
    async with Stage(Path(sys.argv[2])).ohm() as ohm:
        handle = await ohm.start("reader", "hang deaf")
        async for event in handle.events():
            if event.kind == "text_delta":
                print("it runs", flush=True)

anyio.run(main)
"""


@slow
async def test_no_agent_survives_a_host_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOST, str(Path(__file__).parent), str(tmp_path)]
    async with await anyio.open_process(command, stderr=None) as host:
        assert host.stdout is not None
        assert b"it runs" in await host.stdout.receive()
        (agent,) = agents_in(tmp_path)
        host.kill()
    with anyio.fail_after(30):
        await anyio.to_thread.run_sync(agent.wait)
    assert agents_in(tmp_path) == []


@slow
async def test_a_command_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm(backends={"mine": {"type": "acp", "command": ["no-such-agent"], "agent": "claude"}}) as ohm:
        error = await failed(ohm, "Say hello.")
    assert error.code == ErrorCode.COMMAND_UNUSABLE
    assert 'The command "no-such-agent" of backend "mine" cannot be started' in error.message


class Heard:
    """Knows when the agent has spoken."""

    def __init__(self) -> None:
        self.spoke = anyio.Event()
        self.events: list[object] = []

    def emit(self, event: object) -> None:
        """Keep it."""
        self.events.append(event)
        if isinstance(event, TextDelta):
            self.spoke.set()


def request_of(prompt: str, cwd: Path) -> RunRequest:
    spec = RunSpec(profile=READER, description="", instructions="", cwd=cwd, tools=("read",))
    return RunRequest(task_id=TaskId("task_1"), session_id=SessionId("s"), prompt=prompt, spec=spec)


def agents_in(home: Path) -> list[psutil.Process]:
    """The processes of the agent that has its home there."""
    found = psutil.process_iter(["cmdline"])
    return [one for one in found if str(home) in (one.info["cmdline"] or ()) and HOST not in one.info["cmdline"]]
