"""Requests of subagents, answered by MCP clients of each kind."""

from __future__ import annotations

import anyio
import pytest
from asking_agent import PUSH, PUSHER, AskingAgent
from mcp import Client
from mcp_tasks import TasksExtension, ask, begun
from mcp_types import ElicitResult

from ohm_subagents import Approve, Deny, Ohm, Request, Text
from ohm_subagents.contract import SessionId, TaskId
from ohm_subagents.mcp import mcp_server
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio
START = {"op": "start", "subagent_type": "pusher", "description": "d", "prompt": PUSH}


@pytest.fixture
def anyio_backend():
    return "asyncio"


def opened(agent):
    return Ohm.open(config={"subagentBackend": "asking"}, env=HERMETIC, plugins=[agent], profiles=[PUSHER])


class Person:
    """Fills in each form in the same way."""

    def __init__(self, action="accept", **content):
        self.asked = []
        self._result = ElicitResult(action=action, content=content or None)

    async def __call__(self, _context, params):
        self.asked.append(params)
        return self._result


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("person", "ran"),
    [
        (Person(decision="approve"), [PUSH]),
        (Person(decision="deny", reason="Not on Friday."), []),
        (Person("decline"), []),
    ],
    ids=["approve", "deny", "decline"],
)
async def test_a_client_with_forms_is_asked_by_its_protocol(person, ran, mode):
    agent, person.asked = AskingAgent(), []
    async with opened(agent) as ohm, Client(mcp_server(ohm), elicitation_callback=person, mode=mode) as client:
        result = await client.call_tool("task", START)
    (form,) = person.asked
    assert PUSH in form.message
    assert form.requested_schema["required"] == ["decision"]
    assert agent.ran == ran
    text = result.content[0].text
    assert ("done" in text) == bool(ran)
    assert ("Not on Friday" in text) == (person._result.content is not None and "reason" in person._result.content)


async def test_a_client_without_forms_leaves_the_request_open_for_others():
    agent = AskingAgent()
    async with opened(agent) as ohm, Client(mcp_server(ohm)) as client, anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "task", START)
        while not ohm.requests():
            await anyio.wait_all_tasks_blocked()
        (request,) = ohm.requests()
        assert (await ohm.answer(request.id, Approve())).unwrap().tool == "bash"
    assert agent.ran == [PUSH]


async def test_a_call_that_is_polled_requires_input_and_takes_it():
    agent = AskingAgent()
    async with opened(agent) as ohm, Client(mcp_server(ohm), extensions=[TasksExtension()]) as client:
        task = await begun(client, "task", START)
        while not ohm.requests():
            await anyio.wait_all_tasks_blocked()
        (request,) = ohm.requests()
        state = await ask(client, "tasks/get", task.task_id)
        accepted = {"action": "accept", "content": {"decision": "approve"}}
        await ask(client, "tasks/update", task.task_id, input_responses={request.id: accepted, "req_unknown": accepted})
        await ohm.handle(task.task_id).wait()
        await anyio.wait_all_tasks_blocked()
        done = await ask(client, "tasks/get", task.task_id)
    assert state.status == "input_required"
    (asked,) = state.model_extra["inputRequests"].values()
    assert asked["method"] == "elicitation/create"
    assert PUSH in asked["params"]["message"]
    assert done.status == "completed"
    assert agent.ran == [PUSH]


def test_a_question_is_a_form_with_one_answer():
    from ohm_subagents.mcp.requests import answer_in, form_of

    ids = {"task_id": TaskId("task_1"), "session_id": SessionId("s"), "path": (TaskId("task_1"),)}
    request = Request(
        id="req_1", **ids, profile="pusher", kind="question", question="Which branch?", options=("main", "dev")
    )
    form = form_of(request)
    assert form.message == "Subagent pusher asks: Which branch? (main / dev)"
    assert form.requested_schema["properties"]["answer"]["description"] == "Such as: main, dev"
    assert answer_in(request, {"action": "accept", "content": {"answer": "dev"}}) == Text("dev")
    assert isinstance(answer_in(request, {"action": "accept", "content": {}}), Deny)
    assert isinstance(answer_in(request, {"action": "cancel"}), Deny)
    assert isinstance(answer_in(request, "yes"), Deny)
