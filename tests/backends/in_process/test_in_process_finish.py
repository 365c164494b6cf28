"""A run that is told to finish answers with what it has; a follow-up goes into the run only before that."""

from typing import Any

import anyio
import pytest
from fake_engine import FakeInbox, StoryLog
from model_server import Call, Gate, ModelServer, Request, Say
from subagent_runs import EventLog, acme, answer, child_tool, opened, request, tool_of

from ohm_subagents._plugins.suites.tool import Tool, ToolCall, ToolResult
from ohm_subagents.contract import Checkpointed, ToolEnded

pytestmark = pytest.mark.anyio

NOW = "Time is nearly up: answer now."


async def run_and_finish(server: ModelServer, held: Gate, log: EventLog, **changes: Any) -> tuple[str, FakeInbox]:
    """Run; when the model holds its breath, tell the run to finish."""
    inbox, answers = FakeInbox(), []

    async def run() -> None:
        answers.append(answer(await backend.run(request(inbox=inbox, **changes), log)))

    async with opened(acme(server)) as backend, anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await held.reached()
        assert inbox.finish is not None
        assert inbox.finish(NOW) is True
        assert inbox.steer is not None
        assert inbox.steer("And then?") is False, "a follow-up deserves a run with tools"
        held.open()
    return answers[0], inbox


def looking(calls: list[Any]) -> Tool:
    return child_tool("look", ToolResult(text="seen", details={}), calls=calls)


async def test_the_next_request_has_no_tools_and_says_why() -> None:
    held, log, calls = Gate(), EventLog(), []
    script = (Say(Call("look")), Say(held, Call("look")), Say("So far: seen."))
    async with ModelServer(*script) as server:
        said, inbox = await run_and_finish(server, held, log, child_tools=(looking(calls),))
    assert said == "So far: seen."
    assert [asked.tool_names for asked in server.requests] == [["look"], ["look"], []]
    assert server.requests[2].prompt == NOW
    assert len(calls) == 1, "a call that was still to come did not run"
    assert [ended.status for ended in log.of(ToolEnded)] == ["success", "error"]
    assert inbox.finish is None, "nobody can ask a run that is over"


async def test_what_the_run_was_told_is_not_part_of_the_conversation() -> None:
    held, log = Gate(), EventLog()
    async with ModelServer(Say(held, Call("look")), Say("ok")) as server:
        await run_and_finish(server, held, log, child_tools=(looking([]),))
    assert NOW not in log.of(Checkpointed)[-1].state


async def test_a_run_that_is_giving_its_answer_just_ends() -> None:
    held, log = Gate(), EventLog()
    async with ModelServer(Say("The ", held, "answer.")) as server:
        said, _ = await run_and_finish(server, held, log)
    assert said == "The answer."
    assert len(server.requests) == 1


async def test_a_model_that_goes_on_calling_tools_gets_none(tmp_path) -> None:
    held, log, calls = Gate(), EventLog(), []

    def stubborn(asked: Request) -> Say:
        match len(asked.tool_results):
            case 0:
                return Say(held, Call("look"))
            case 1 | 2:
                return Say(Call("look"), Call("write", {"path": "x", "content": "y"}))
            case _:
                return Say("Well then.")

    async with ModelServer(stubborn) as server:
        said, _ = await run_and_finish(server, held, log, cwd=tmp_path, tools=("write",), child_tools=(looking(calls),))
    assert said == "Well then."
    assert calls == []
    assert not (tmp_path / "x").exists()
    assert {ended.status for ended in log.of(ToolEnded)} == {"error"}
    assert all(asked.tool_names == [] for asked in server.requests[1:])


async def test_a_tool_that_runs_when_the_run_is_told_to_finish_is_let_be() -> None:
    inbox, log = FakeInbox(), StoryLog()

    async def execute(_: ToolCall) -> ToolResult:
        assert inbox.finish is not None
        assert inbox.finish(NOW) is True
        return ToolResult(text="seen", details={})

    tool = tool_of("look", execute)
    async with ModelServer(Say(Call("look")), Say("Seen.")) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(inbox=inbox, child_tools=(tool,)), log)) == "Seen."
    assert [ended.status for ended in log.of(ToolEnded)] == ["success"]
    assert server.requests[1].tool_results == ["seen"]
    assert server.requests[1].tool_names == []


async def test_a_follow_up_goes_into_the_run_with_its_tools() -> None:
    inbox, held, answers = FakeInbox(), Gate(), []

    async def run() -> None:
        answers.append(answer(await backend.run(request(inbox=inbox, child_tools=(looking([]),)), EventLog())))

    async with (
        ModelServer(Say("First.", held), Say("Both.")) as server,
        opened(acme(server)) as backend,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(run)
        await held.reached()
        assert inbox.steer is not None
        assert inbox.steer("And then?") is True
        held.open()
    assert answers == ["Both."]
    assert server.requests[1].prompt == "And then?"
    assert server.requests[1].tool_names == ["look"]
