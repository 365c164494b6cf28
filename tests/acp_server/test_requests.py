"""Requests of subagents, put to an editor."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
from acp.schema import RequestPermissionResponse
from acp_editor import editor_of
from asking_agent import PUSH, PUSHER, AskingAgent
from loops import one_loop

from ohm_subagents import Approve, Deny, Ohm, Request, Text
from ohm_subagents.acp import acp_agent
from ohm_subagents.acp.requests import Requests
from ohm_subagents.contract import SessionId, TaskId
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio


def opened(agent):
    config = {"subagentBackend": "asking", "editorSubagent": "pusher"}
    return Ohm.open(config=config, env=HERMETIC, plugins=[agent], profiles=[PUSHER])


@pytest.mark.parametrize(("chosen", "ran"), [("call", [PUSH]), ("task", [PUSH, PUSH]), ("deny", []), (None, [])])
async def test_a_call_that_a_rule_asks_about_is_a_permission_request_beside_the_call(chosen, ran, tmp_path):
    agent = AskingAgent()
    prompt = f"{PUSH}\n{PUSH}" if chosen == "task" else PUSH
    async with opened(agent) as ohm, editor_of(acp_agent(ohm)) as editor:
        editor.choices = [chosen]
        session = await editor.opened(tmp_path)
        await editor.ask(session, prompt)
        (asked,) = editor.asked
        call = editor.of("tool_call")[0]
    assert agent.ran == ran
    assert (asked.tool_call.tool_call_id, asked.tool_call.kind) == (call.tool_call_id, "execute")
    assert asked.tool_call.raw_input == {"command": PUSH}
    assert [(one.option_id, one.kind) for one in asked.options] == [
        ("call", "allow_once"),
        ("task", "allow_always"),
        ("always", "allow_always"),
        ("deny", "reject_once"),
    ]


async def test_a_request_that_is_answered_elsewhere_goes_on_without_the_editor(tmp_path):
    agent = AskingAgent()
    async with opened(agent) as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(editor.ask, session, PUSH)
            await editor.was_asked()
            (request,) = ohm.requests()
            answered = await ohm.answer(request.id, Approve())
    assert answered.unwrap().id == request.id
    assert agent.ran == [PUSH]


async def test_an_editor_that_cannot_be_asked_is_told_how_to_answer(tmp_path):
    agent = AskingAgent()
    async with opened(agent) as ohm, editor_of(acp_agent(ohm)) as editor:
        editor.choices = ["unknown"]
        session = await editor.opened(tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(editor.ask, session, PUSH)
            told = await editor.told("agent_thought_chunk")
            (request,) = ohm.requests()
            await ohm.answer(request.id, Approve())
    assert f"ohm answer {request.id} approve" in told.content.text
    assert agent.ran == [PUSH]


def question(*options):
    return Request(
        id="req_1",
        task_id=TaskId("task_1"),
        session_id=SessionId("s"),
        path=(TaskId("task_1"),),
        profile="pusher",
        kind="question",
        question="Which branch?",
        options=options,
    )


@pytest.mark.parametrize(
    ("filled_in", "answer"),
    [
        ({"action": "accept", "content": {"answer": "main"}}, Text("main")),
        ({"action": "accept", "content": {"answer": " "}}, Deny),
        ({"action": "decline"}, Deny),
    ],
)
async def test_a_question_is_a_form_for_an_editor_that_shows_forms(filled_in, answer, tmp_path):
    from acp.schema import AcceptElicitationResponse, DeclineElicitationResponse

    from ohm_subagents.acp.requests import Requests

    shown = []

    class Form:
        async def create_elicitation(self, *, message, mode):
            await anyio.lowlevel.checkpoint()
            shown.append((message, mode.requested_schema.properties["answer"].description))
            kind = AcceptElicitationResponse if filled_in["action"] == "accept" else DeclineElicitationResponse
            return kind.model_validate(filled_in)

    given = await Requests("s", Form(), tmp_path, takes_forms=True).answer(question("main", "dev"))
    assert shown == [("pusher asks: Which branch?", "Such as: main, dev")]
    assert given == answer or (isinstance(answer, type) and isinstance(given, answer))


@pytest.mark.parametrize(("chosen", "answer"), [("2", Text("dev")), ("deny", Deny), (None, Deny)])
async def test_a_question_is_a_choice_for_an_editor_without_forms(chosen, answer, tmp_path):
    from acp_editor import Editor

    from ohm_subagents.acp.requests import Requests

    editor = Editor()
    editor.choices = [chosen]
    requests = Requests("s", editor, tmp_path, takes_forms=False)
    given = await requests.answer(question("main", "dev"))
    open_one = await requests.answer(question())
    assert [one.name for one in editor.asked[0].options] == ["main", "dev", "No answer"]
    assert given == answer or (isinstance(answer, type) and isinstance(given, answer))
    assert open_one is None


class Editor:
    """A person who chooses this option of each permission request."""

    def __init__(self, chosen):
        self.chosen = chosen

    async def request_permission(self, **asked):
        self.asked = asked
        return RequestPermissionResponse.model_validate({"outcome": {"outcome": "selected", "optionId": self.chosen}})


@pytest.mark.parametrize(("chosen", "answer"), [("call", Approve()), ("deny", Deny())])
@one_loop
async def test_a_landing_is_asked_about_in_files_and_lines_and_is_agreed_to_once(chosen, answer, tmp_path):
    work = '{"ref":"refs/ohm/task_1","files":2,"insertions":10,"deletions":3}'
    request = Request(
        id="r", task_id="task_1", session_id="s", path=("task_1",), profile="finder", tool="land", arguments=work
    )
    editor = Editor(chosen)
    assert await Requests("s", editor, tmp_path, takes_forms=False).answer(request) == answer
    assert editor.asked["tool_call"].title == "finder: land 2 files, +10 -3"
    assert [one.name for one in editor.asked["options"]] == ["Land it", "Keep it apart"]
