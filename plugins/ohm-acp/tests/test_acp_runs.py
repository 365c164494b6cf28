"""Runs in a scripted agent: a real process, through everything but a model."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
import psutil
import pytest
from acp_stage import READER, Stage, command_of

from ohm_acp.hooks import instance
from ohm_acp.options import AcpOptions
from ohm_subagents import Err, Ok, tool
from ohm_subagents.contract import SessionId, TaskId
from ohm_subagents.plugin import ErrorCode, RunRequest, RunSpec, TextDelta, ToolEnded, ToolStarted, UsageAdded

if TYPE_CHECKING:
    from ohm_subagents import Envelope, Ohm, OhmError
    from ohm_subagents.plugin import Result, ToolResult

pytestmark = pytest.mark.anyio
slow = pytest.mark.slow  # a process each; what stays quick has one of each kind


@pytest.fixture
def anyio_backend() -> str:
    """The ACP library runs on asyncio only."""
    return "asyncio"


async def answered(ohm: Ohm, prompt: str, profile: str = "reader", **how: Any) -> Envelope:
    outcome: Result[Envelope, OhmError] = await ohm.run(profile, prompt, **how)
    if isinstance(outcome, Err):
        pytest.fail(str(outcome.err_value))
    return outcome.ok_value


async def failed(ohm: Ohm, prompt: str, profile: str = "reader", **how: Any) -> OhmError:
    outcome: Result[Envelope, OhmError] = await ohm.run(profile, prompt, **how)
    if isinstance(outcome, Ok):
        pytest.fail(f"succeeded with {outcome.ok_value.output!r}")
    return outcome.err_value


def told(envelope: Envelope) -> list[str]:
    return [*(envelope.diagnostics or ())]


async def test_an_answer_comes_with_usage_cost_and_who_gave_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm() as ohm:
        envelope = await answered(ohm, "Say hello.")
    assert envelope.output == "Hello from the agent."
    assert (envelope.backend, envelope.runtime, envelope.provider) == ("mine", "acp", "anthropic")
    usage = envelope.usage
    assert usage is not None
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (1, 100, 20, 40)
    assert usage.cost_usd == "0.25"
    (session,) = stage.noted("sessions")
    assert session["cwd"] == str(tmp_path / "work")
    assert session["env"]["PI_SUBAGENT_CHILD"] == "1"


async def test_claude_is_kept_to_the_tools_of_the_profile_and_given_its_instructions(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm() as ohm:
        await answered(ohm, "Say hello.")
        await answered(ohm, "Say hello.", "free")
    bounded, free = (one["_meta"] for one in stage.noted("sessions"))
    assert bounded["claudeCode"]["options"]["tools"] == ["Read", "Grep"]
    assert "You read." in bounded["systemPrompt"]["append"]
    assert "tools" not in free["claudeCode"]["options"]
    assert stage.noted("prompts") == ["Say hello.", "Say hello."]


async def test_a_profile_that_limits_tools_is_refused_by_an_agent_that_cannot_be_kept_to_them(tmp_path: Path) -> None:
    stage = Stage(tmp_path, options={})
    async with stage.ohm() as ohm:
        error = await failed(ohm, "Say hello.")
        assert (await answered(ohm, "Say hello.", "free")).output
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
    assert error.message == (
        "mine cannot be kept to the tools that the profile allows: this agent has tools of its own."
    )
    assert 'subagents.backends."mine".agent of ohm.json' in error.advice
    (prompt,) = stage.noted("prompts")
    assert "You do." in prompt  # there is no other place for them
    assert prompt.endswith("\n\nSay hello.")


@slow
async def test_an_agent_that_is_not_the_one_that_it_is_taken_for_is_refused(tmp_path: Path) -> None:
    async with Stage(tmp_path, ("imposter",)).ohm() as ohm:
        error = await failed(ohm, "Say hello.")
    assert error.message == 'mine was taken for claude, and calls itself "opencode".'


async def test_a_tool_call_is_told_once_with_its_arguments_and_its_result(tmp_path: Path) -> None:
    async with Stage(tmp_path).ohm() as ohm:
        envelope = await answered(ohm, "Use tools now")
        calls = await calls_of(ohm, envelope)
    assert [(one.kind, one.call_id, one.tool) for one in calls] == [
        ("tool_started", "c1", "Bash"),
        ("tool_ended", "c1", "Bash"),
        ("tool_started", "c2", "Read"),
        ("tool_ended", "c2", "Read"),
    ]
    assert isinstance(calls[0], ToolStarted)
    assert isinstance(calls[1], ToolEnded)
    assert (calls[0].args, calls[1].text) == ('{"command":"ls"}', "a.py\nb.py")
    assert envelope.output == "Hello from the agent."


@slow
async def test_a_file_that_the_agent_writes_is_named_below_the_folder(tmp_path: Path) -> None:
    async with Stage(tmp_path).ohm() as ohm:
        handle = await ohm.start("free", "Please write it")
        changed = [one.path async for one in handle.events() if one.kind == "file_changed"]
    assert changed == ["new.txt"]


async def test_permissions_are_answered_by_the_profile_once_each_and_a_refusal_is_told(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm() as ohm:
        envelope = await answered(ohm, "Ask for permission first")
    assert [one["optionId"] for one in stage.noted("permissions")] == ["yes", "no", "no"]
    assert [one for one in told(envelope) if "asked" in one] == [
        'The agent asked to use "Bash" with {"what":"Bash"}; the profile does not allow it, so it was refused.',
        'The agent asked to use "WebFetch" with {"what":"WebFetch"}; the profile does not allow it, so it was refused.',
    ]


@slow
async def test_a_profile_without_a_list_allows_what_the_agent_asks_for(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm() as ohm:
        await answered(ohm, "Ask for permission first", "free")
    assert [one["optionId"] for one in stage.noted("permissions")] == ["yes", "yes", "yes"]


@pytest.mark.parametrize(
    ("words", "methods"),
    [
        (("resume", "load"), ["session/new", "session/resume"]),
        pytest.param(("load",), ["session/new", "session/load"], marks=slow),
        pytest.param(("lies", "load"), ["session/new", "session/load"], marks=slow),
    ],
)
async def test_a_follow_up_continues_the_session_of_the_agent(
    tmp_path: Path, words: tuple[str, ...], methods: list[str]
) -> None:
    stage = Stage(tmp_path, words)
    async with stage.ohm() as ohm:
        first = await answered(ohm, "Say hello.")
        sent = await ohm.call("task", {"op": "send", "id": first.task_id, "prompt": "Tell the past"})
    assert details(sent)["output"] == "Say hello."  # nothing of the past that was replayed
    assert [one["method"] for one in stage.noted("sessions")] == methods
    assert stage.noted("prompts") == ["Say hello.", "Tell the past"]


@pytest.mark.parametrize("words", [("lies",), pytest.param((), marks=slow)])
async def test_where_no_session_is_kept_the_conversation_is_in_the_prompt(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    stage = Stage(tmp_path, words)
    async with stage.ohm() as ohm:
        first = await answered(ohm, "Say hello.")
        sent = await ohm.call("task", {"op": "send", "id": first.task_id, "prompt": "And now"})
    (warning,) = (one for one in details(sent)["diagnostics"] if "session" in one)
    assert warning.startswith("mine did not continue its session (")
    assert "User:\nSay hello.\n\nAssistant:\nHello from the agent." in stage.noted("prompts")[1]


@slow
async def test_the_cost_of_a_session_that_is_continued_is_counted_once(tmp_path: Path) -> None:
    async with Stage(tmp_path, ("resume",)).ohm() as ohm:
        first = await answered(ohm, "Say hello.")
        sent = await ohm.call("task", {"op": "send", "id": first.task_id, "prompt": "Again"})
    assert details(sent)["usage"]["cost_usd"] == "0.25"


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
async def test_an_agent_is_logged_in_by_the_way_that_the_options_name(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ("auth",), {"agent": "claude", "authMethod": "key"})
    async with stage.ohm() as ohm:
        await answered(ohm, "Say hello.")
    assert stage.noted("logins") == ["key"]


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


async def test_a_model_that_the_agent_offers_is_chosen(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ("models",), {"agent": "other"})
    async with stage.ohm() as ohm:
        envelope = await answered(ohm, "Say hello.", "free", model="acme/two")
        error = await failed(ohm, "Say hello.", "free", model="acme/three")
    assert stage.noted("models") == ["two"]
    assert (envelope.provider, envelope.model) == ("acme", "two")
    assert (error.code, error.message) == (
        ErrorCode.MODEL_UNKNOWN,
        'mine does not offer the model "acme/three".',
    )
    assert "Its models: one, two." in error.advice


@slow
async def test_a_model_has_no_effect_on_an_agent_that_offers_no_choice(tmp_path: Path) -> None:
    async with Stage(tmp_path, options={"agent": "other"}).ohm() as ohm:
        envelope = await answered(ohm, "Say hello.", "free", model="acme/two")
    assert told(envelope) == ['mine offers no choice of a model, so "acme/two" has no effect.']


@tool
def double(number: int) -> int:
    """Double a number.

    Args:
        number: the number.
    """
    return 2 * number


@slow
async def test_a_tool_of_the_program_is_called_by_the_agent_and_told_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    prompt = "child-tool " + json.dumps(["double", {"number": 21}])
    async with stage.ohm() as ohm:
        envelope = await answered(ohm, prompt, tools=[double])
        calls = await calls_of(ohm, envelope)
    assert [(one.kind, one.tool) for one in calls] == [("tool_started", "double"), ("tool_ended", "double")]
    assert isinstance(calls[1], ToolEnded)
    assert calls[1].text == "42"
    (session,) = stage.noted("sessions")
    assert [one["name"] for one in session["mcpServers"]] == ["ohm"]


@slow
async def test_an_agent_that_takes_no_server_cannot_be_given_tools(tmp_path: Path) -> None:
    async with Stage(tmp_path, ("no-http",)).ohm() as ohm:
        error = await failed(ohm, "Say hello.", tools=[double])
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
    assert error.message == "mine takes no MCP server over HTTP, so it cannot be given double."


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


async def calls_of(ohm: Ohm, envelope: Envelope) -> list[ToolStarted | ToolEnded]:
    handle = ohm.handle(envelope.task_id or "")
    assert handle is not None
    return [event async for event in handle.events() if isinstance(event, ToolStarted | ToolEnded)]


def details(sent: ToolResult) -> dict[str, Any]:
    """The envelope of a follow-up."""
    return cast("dict[str, Any]", sent.details)
