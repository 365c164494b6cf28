"""A session goes on: from its checkpoint, or from what was said."""

import anyio
import pytest
from model_server import Call, ModelServer, Request, Say, Stall, Status, Wire
from subagent_runs import EventLog, acme, answer, child_tool, error, opened, request, tool_of

from ohm_subagents._plugins.backends.request import Exchange
from ohm_subagents._plugins.suites.tool import ToolCall, ToolResult
from ohm_subagents.contract import Checkpointed, DiagnosticRaised, ErrorCode, ToolEnded, UsageAdded

pytestmark = pytest.mark.anyio

LOOK = child_tool("look", ToolResult(text="in cap.py", details={}))


async def test_a_later_run_continues_from_the_checkpoint() -> None:
    log = EventLog()
    async with ModelServer(Say(Call("look")), Say("It is in cap.py."), Say("Line 3.")) as server:
        async with opened(acme(server)) as backend:
            await backend.run(request("Where?", child_tools=(LOOK,)), log)
        state = log.of(Checkpointed)[-1].state
        async with opened(acme(server)) as another:
            outcome = await another.run(request("Which line?", child_tools=(LOOK,), checkpoint=state), EventLog())
    assert answer(outcome) == "Line 3."
    assert [message["role"] for message in server.requests[2].messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert server.requests[2].tool_results == ["in cap.py"]
    assert server.requests[2].prompt == "Which line?"


async def test_a_run_that_failed_after_its_tools_can_be_continued() -> None:
    log = EventLog()
    async with (
        ModelServer(Say(Call("look")), Status(500), Say("Recovered.")) as server,
        opened(acme(server)) as backend,
    ):
        error(await backend.run(request("Where?", child_tools=(LOOK,)), log))
        state = log.of(Checkpointed)[-1].state
        outcome = await backend.run(request("Go on.", child_tools=(LOOK,), checkpoint=state), EventLog())
    assert answer(outcome) == "Recovered."
    assert server.requests[2].tool_results == ["in cap.py"]


async def test_usage_of_a_continued_session_starts_anew() -> None:
    log = EventLog()
    async with ModelServer(lambda _: Say("ok")) as server, opened(acme(server), request_limit=1) as backend:
        for _ in range(3):
            state = log.of(Checkpointed)[-1].state if log.events else None
            answer(await backend.run(request(checkpoint=state), log))
    assert [added.usage.requests for added in log.of(UsageAdded)] == [1, 1, 1]


async def test_an_unreadable_checkpoint_is_said_and_the_history_is_used() -> None:
    log = EventLog()
    history = (Exchange(prompt="Where?", output="In cap.py."), Exchange(prompt="Failed.", output=""))
    async with ModelServer(Say("Line 3.")) as server, opened(acme(server)) as backend:
        outcome = await backend.run(request("Which line?", history=history, checkpoint='{"messages": 3}'), log)
    assert answer(outcome) == "Line 3."
    assert "cannot be read" in log.of(DiagnosticRaised)[0].diagnostic.message
    said = [(message["role"], message["content"]) for message in server.requests[0].messages]
    assert said[1:3] == [("user", "Where?"), ("assistant", "In cap.py.")]
    assert server.requests[0].prompt.endswith("Which line?")


async def test_history_without_a_checkpoint_is_seen() -> None:
    history = (Exchange(prompt="Where?", output="In cap.py."),)
    async with ModelServer(Say("ok")) as server, opened(acme(server)) as backend:
        await backend.run(request("And?", history=history), EventLog())
    assert [message["content"] for message in server.requests[0].messages[1:]] == ["Where?", "In cap.py.", "And?"]


async def test_a_failed_first_request_leaves_no_checkpoint() -> None:
    log = EventLog()
    async with ModelServer(Status(401)) as server, opened(acme(server)) as backend:
        assert error(await backend.run(request(), log)).code == ErrorCode.PROVIDER_AUTHENTICATION
    assert log.of(Checkpointed) == []


def last_of(calls: int, then: Stall | Status | Say):
    """Ask for a tool `calls` times, then do something else."""

    def script(asked: Request):
        return Say(Call("look")) if len(asked.tool_results) < calls else then

    return script


@pytest.mark.slow
@pytest.mark.parametrize("end", [Status(500), Say("Done.")], ids=["failed", "answered"])
async def test_the_checkpoints_of_a_long_run_are_few_and_the_last_has_everything(end: Status | Say) -> None:
    log = EventLog()
    async with ModelServer(last_of(30, end)) as server, opened(acme(server)) as backend:
        await backend.run(request(child_tools=(LOOK,)), log)
    states = [checkpointed.state for checkpointed in log.of(Checkpointed)]
    assert states[-1].count("in cap.py") == 30
    assert sum(map(len, states)) < 6 * len(states[-1])
    assert len(set(states)) == len(states)


async def test_a_run_that_is_cancelled_leaves_the_state_of_its_last_whole_turn() -> None:
    log = EventLog()
    async with ModelServer(last_of(9, Stall())) as server, opened(acme(server)) as backend:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(backend.run, request(child_tools=(LOOK,)), log)
            await server.until(lambda seen: len(seen.requests) == 10)
            tasks.cancel_scope.cancel()
        state = log.of(Checkpointed)[-1].state
        assert state.count("in cap.py") == 9


HALF_A_CALL = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m1","choices":[{"index":0,"delta":'
    b'{"tool_calls":[{"index":0,"id":"c1","function":{"name":"look","arguments":"{\\"ctx\\": \\"ha"}}]}}]}\n\n'
)


async def test_a_stream_that_broke_off_within_a_tool_call_can_be_continued() -> None:
    log = EventLog()
    script = (Say("Let me look.", Wire(HALF_A_CALL), Wire(b"data: {oops\n\n")), Say("Recovered."))
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        error(await backend.run(request("Where?", child_tools=(LOOK,)), log))
        state = log.of(Checkpointed)[-1].state
        assert answer(await backend.run(request("Go on.", checkpoint=state), EventLog())) == "Recovered."
    _, asked, said, told, newest = server.requests[1].messages
    assert (asked["content"], said["content"], newest["content"]) == ("Where?", "Let me look.", "Go on.")
    assert "interrupted" in told["content"]


async def test_a_run_that_was_stopped_within_a_tool_keeps_what_the_other_tools_found() -> None:
    async def execute(_: ToolCall) -> ToolResult:
        hanging.set()
        await anyio.sleep_forever()
        raise AssertionError

    hang = tool_of("hang", execute)
    hanging, found_it, log = anyio.Event(), anyio.Event(), EventLog()

    class Watching(EventLog):
        def emit(self, event):
            log.emit(event)
            if isinstance(event, ToolEnded):
                found_it.set()

    script = (Say("Both.", Call("look", id="c1"), Call("hang", id="c2")), Say("Recovered."))
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(backend.run, request("Where?", child_tools=(LOOK, hang)), Watching())
            await hanging.wait()
            await found_it.wait()
            tasks.cancel_scope.cancel()
        state = log.of(Checkpointed)[-1].state
        assert answer(await backend.run(request("Go on.", checkpoint=state), EventLog())) == "Recovered."
    found, cut = server.requests[1].tool_results
    assert found == "in cap.py"
    assert "interrupted" in cut
