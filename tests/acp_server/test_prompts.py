"""An editor, on the client side of the ACP library, and an `Ohm` in one process."""

import anyio
import pytest
from acp_editor import editor_of, refused

from ohm_subagents import ErrorCode, OhmError
from ohm_subagents.acp import acp_agent
from ohm_subagents.plugin import TextDelta, ThinkingDelta, ToolEnded, ToolStarted, ToolUpdated, Usage, UsageAdded
from ohm_subagents.store import TaskQuery
from ohm_subagents.testing import ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio
READ = '{"path": "src/app.py", "offset": 12}'
EDIT = '{"path": "a.py", "oldText": "1", "newText": "2"}'


async def test_a_prompt_is_a_task_and_its_events_are_updates(tmp_path):
    events = (
        ThinkingDelta(text="Look first."),
        ToolStarted(call_id="1", tool="read", args=READ),
        ToolUpdated(call_id="1", tool="read", text="half"),
        ToolEnded(call_id="1", tool="read", status="success", text="12 lines"),
        TextDelta(text="It is "),
        TextDelta(text="here."),
    )
    async with quick_ohm(Step(text="It is here.", events=events)) as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        answer = await editor.ask(session, "Where is login?")
        (kept,) = ohm.store.session(session)

    assert (answer.stop_reason, answer.field_meta) == ("end_turn", {"ohm/task": "task_1"})
    assert (kept.assignment.prompt, kept.assignment.cwd, kept.status) == ("Where is login?", f"{tmp_path}", "succeeded")
    assert editor.kinds() == [
        "session_info_update",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "tool_call_update",
        "agent_message_chunk",
        "agent_message_chunk",
    ]
    assert (editor.said("agent_thought_chunk"), editor.said()) == ("Look first.", "It is here.")
    (call,) = editor.of("tool_call")
    assert (call.tool_call_id, call.title, call.kind) == ("task_1-1", "read src/app.py:12", "read")
    assert (call.locations[0].path, call.locations[0].line) == (f"{tmp_path}/src/app.py", 12)
    assert call.raw_input == {"path": "src/app.py", "offset": 12}
    running, ended = editor.of("tool_call_update")
    assert [(each.tool_call_id, each.status) for each in (running, ended)] == [
        ("task_1-1", "in_progress"),
        ("task_1-1", "completed"),
    ]
    assert ended.content[0].content.text == "12 lines"
    assert editor.of("session_info_update")[0].title == "Where is login?"


async def test_an_edit_shows_its_change_and_a_failed_one_its_output(tmp_path):
    events = (
        ToolStarted(call_id="1", tool="edit", args=EDIT),
        ToolEnded(call_id="1", tool="edit", status="success", text="Changed."),
        ToolStarted(call_id="1", tool="bash", args='{"command": "false"}'),
        ToolEnded(call_id="1", tool="bash", status="error", text="exit code 1"),
    )
    async with quick_ohm(Step(text="x", events=events)) as ohm, editor_of(acp_agent(ohm)) as editor:
        await editor.ask(await editor.opened(tmp_path), "Go")

    edit, run = editor.of("tool_call")
    assert (run.tool_call_id, run.kind, run.title) == ("task_1-2", "execute", "bash false")
    edited, failed = editor.of("tool_call_update")
    (diff,) = edited.content
    assert (diff.path, diff.old_text, diff.new_text) == (f"{tmp_path}/a.py", "1", "2")
    assert (failed.status, failed.content[0].content.text) == ("failed", "exit code 1")
    assert edit.content == edited.content


async def test_todos_are_a_plan(tmp_path):
    events = (
        ToolStarted(call_id="1", tool="edit_todos", args="{}"),
        ToolEnded(
            call_id="1",
            tool="edit_todos",
            status="success",
            text="Completed 1 todo(s)\n\n✓ [0] look\n● [1] change\n– [2] test\n✗ [3] rest",  # noqa: RUF001  as it is written
        ),
        ToolStarted(call_id="2", tool="TodoWrite", args='{"todos": [{"content": "a", "status": "pending"}]}'),
        ToolEnded(call_id="2", tool="TodoWrite", status="success", text="ok"),
    )
    async with quick_ohm(Step(text="x", events=events)) as ohm, editor_of(acp_agent(ohm)) as editor:
        await editor.ask(await editor.opened(tmp_path), "Go")

    ours, theirs = editor.of("plan")
    assert [(each.content, each.status) for each in ours.entries] == [
        ("look", "completed"),
        ("change", "in_progress"),
        ("test", "pending"),
    ]
    assert [each.content for each in theirs.entries] == ["a"]


@pytest.mark.parametrize(
    ("streamed", "answer", "shown"),
    [
        ((), "whole", "whole"),
        (("One.", "Two."), "One.\n\nTwo.", "One.Two."),
        (("Let me see.",), "Handed in.", "Let me see.\n\nHanded in."),
    ],
)
async def test_an_answer_is_shown_once_whether_it_was_streamed_or_not(tmp_path, streamed, answer, shown):
    step = Step(text=answer, events=tuple(TextDelta(text=text) for text in streamed))
    async with quick_ohm(step) as ohm, editor_of(acp_agent(ohm)) as editor:
        await editor.ask(await editor.opened(tmp_path), "Go")
    assert editor.said() == shown


async def test_a_second_prompt_continues_the_session(tmp_path):
    backend = ScriptedBackend("one", "two")
    async with quick_ohm(backend=backend) as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        await editor.ask(session, "First")
        await editor.ask(session, "Second")
        first, second = ohm.store.session(session)

    assert second.assignment.resumed_from == first.id
    assert [run.output for run in second.assignment.inherited] == ["one"]
    told = [(update.title, update.field_meta) for update in editor.of("session_info_update")]
    assert told == [("First", {"ohm/task": first.id}), (None, {"ohm/task": second.id})]


async def test_cost_and_context_are_told_and_the_cost_is_that_of_the_session(tmp_path):
    from decimal import Decimal

    from ohm_subagents.plugin import RouteResolved

    used = Usage(requests=1, input_tokens=900, output_tokens=100, cost_usd=Decimal("0.25"))
    step = Step(text="x", events=(RouteResolved(provider="openai", model="gpt-4o"), UsageAdded(usage=used)))
    async with quick_ohm(step, step) as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        first, second = await editor.ask(session, "a"), await editor.ask(session, "b")

    told = editor.of("usage_update")
    assert [(each.used, each.size, each.cost.amount) for each in told] == [(1000, 128_000, 0.25), (1000, 128_000, 0.5)]
    assert [each.usage.total_tokens for each in (first, second)] == [1000, 1000]


async def test_a_cancelled_prompt_keeps_what_was_said(tmp_path):
    step = Step(events=(TextDelta(text="So far."), ToolStarted(call_id="1", tool="bash")), gate=anyio.Event())
    async with quick_ohm(step, "Again.") as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        answers = []

        async def ask():
            answers.append(await editor.ask(session, "Go"))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await editor.told("tool_call")
            with anyio.fail_after(0.1):
                await editor.connection.cancel(session_id=session)
                while not answers:
                    await anyio.lowlevel.checkpoint()
        (kept,) = ohm.store.session(session)
        assert (await editor.ask(session, "Go on")).stop_reason == "end_turn"

    assert (answers[0].stop_reason, kept.status, kept.text) == ("cancelled", "cancelled", "So far.")
    assert editor.of("tool_call_update")[-1].status == "failed"


async def test_a_prompt_that_is_cancelled_before_it_is_a_task_is_cancelled(tmp_path):
    from acp import text_block

    class Hasty:
        async def session_update(self, session_id, update):
            if update.session_update == "agent_thought_chunk":  # about the configuration, before all else
                await agent.cancel(session_id=session_id)

    backend = ScriptedBackend(default=Step(gate=anyio.Event()))
    config = {"subagents": {"nobody": {"model": "openai/gpt-5"}}}
    async with quick_ohm(backend=backend, config=config) as ohm:
        agent = acp_agent(ohm)
        agent.on_connect(Hasty())
        session = (await agent.new_session(cwd=f"{tmp_path}")).session_id
        with anyio.fail_after(30):
            answer = await agent.prompt(session_id=session, prompt=[text_block("Go")])
        (kept,) = ohm.store.session(session)
    assert (answer.stop_reason, kept.status) == ("cancelled", "cancelled")


FAILURES = {
    ErrorCode.CONTENT_FILTERED: "refusal",
    ErrorCode.CONTEXT_WINDOW_EXCEEDED: "max_tokens",
    ErrorCode.BUDGET_EXCEEDED: "max_turn_requests",
}


@pytest.mark.parametrize(("code", "reason"), FAILURES.items())
async def test_an_end_that_the_protocol_knows_is_a_stop_reason_and_one_message(tmp_path, code, reason):
    error = OhmError(code=code, message="It ended.", advice="Ask less.")
    async with quick_ohm(Step(error=error)) as ohm, editor_of(acp_agent(ohm)) as editor:
        answer = await editor.ask(await editor.opened(tmp_path), "Go")
    assert (answer.stop_reason, editor.said()) == (reason, "It ended. Ask less.")


async def test_any_other_failure_is_one_message_and_an_error_with_its_code(tmp_path):
    error = OhmError(code=ErrorCode.PROVIDER_RATE_LIMITED, message="It is busy.", advice="Wait.", retryable=True)
    async with (
        quick_ohm(Step(error=error, events=(TextDelta(text="So far."),))) as ohm,
        editor_of(acp_agent(ohm)) as ed,
    ):
        with refused(r"^It is busy\. Wait\.$") as raised:
            await ed.ask(await ed.opened(tmp_path), "Go")
    assert ed.said() == "So far.\n\nIt is busy. Wait."
    assert raised.value.data == {
        "code": "provider_rate_limited",
        "category": "runtime",
        "retryable": True,
        "taskId": "task_1",
    }


async def test_what_is_wrong_with_the_configuration_is_told_once(tmp_path):
    config = {"subagents": {"nobody": {"model": "openai/gpt-5"}}}
    async with quick_ohm("one", "two", config=config) as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        await editor.ask(session, "a")
        await editor.ask(session, "b")
        (wrong,) = ohm.diagnostics
    assert editor.said("agent_thought_chunk") == f"{wrong}\n"


async def test_a_blank_prompt_is_refused_before_a_task_is_made_and_the_next_one_works(tmp_path):
    from acp import text_block

    async with quick_ohm("done") as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        for blank in ([], [text_block(" \n")]):
            with refused("^The prompt is blank"):
                await editor.connection.prompt(session_id=session, prompt=blank)
        assert ohm.store.count(TaskQuery()) == 0
        assert (await editor.ask(session, "Go")).stop_reason == "end_turn"


async def test_links_and_files_of_a_prompt_are_text_and_an_image_is_refused(tmp_path):
    from acp import image_block, resource_block, resource_link_block, text_block
    from acp.helpers import embedded_text_resource

    backend = ScriptedBackend("done")
    async with quick_ohm(backend=backend) as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        file = resource_block(embedded_text_resource("file:///src/b.py", "x = 1"))
        link = resource_link_block("a b.py", "file:///src/a%20b.py")
        await editor.connection.prompt(session_id=session, prompt=[text_block("See "), link, file])
        with refused("The prompt has content of the type 'image/png'; allowed: text"):
            await editor.connection.prompt(session_id=session, prompt=[image_block("AAAA", "image/png")])

    expected = "See [a b.py](/src/a b.py)\n<resource uri='/src/b.py'>\nx = 1\n</resource>\n"
    assert backend.calls[0].prompt == expected
