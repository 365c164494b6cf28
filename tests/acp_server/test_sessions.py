"""The sessions of an editor: those that are kept, their choices, and what is wrong with a request."""

import anyio
import pytest
from acp_editor import editor_of, refused

from ohm_subagents.acp import acp_agent
from ohm_subagents.acp.agent import agent_of
from ohm_subagents.acp.greeting import greeting
from ohm_subagents.acp.ohms import OhmOfEachDirectory
from ohm_subagents.plugin import TextDelta, ToolEnded, ToolStarted
from ohm_subagents.testing import ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio
WORK = (
    ToolStarted(call_id="1", tool="read", args='{"path": "a.py"}'),
    ToolEnded(call_id="1", tool="read", status="success", text="1 line"),
    TextDelta(text="Done."),
)


def chosen(options):
    return {option.id: option.current_value for option in options}


def values(options, option_id):
    return [value.value for option in options if option.id == option_id for value in option.options]


async def test_the_first_answer_is_the_one_of_the_agent():
    from acp import PROTOCOL_VERSION
    from acp.schema import InitializeResponse

    async with quick_ohm() as ohm, editor_of(acp_agent(ohm)) as editor:
        answer = await editor.connection.initialize(protocol_version=1)
        future = await editor.connection.initialize(protocol_version=99)
    assert answer == future == InitializeResponse.model_validate(greeting())
    assert answer.protocol_version == PROTOCOL_VERSION


async def test_a_session_of_another_connection_is_listed_loaded_and_continued(tmp_path):
    backend = ScriptedBackend(Step(text="Done.", events=WORK), "And more.")
    async with quick_ohm(backend=backend) as ohm:
        async with editor_of(acp_agent(ohm)) as editor:
            session = await editor.opened(tmp_path)
            await editor.ask(session, "First")
        async with editor_of(acp_agent(ohm)) as editor:
            (listed,) = (await editor.connection.list_sessions(cwd=f"{tmp_path}")).sessions
            assert (await editor.connection.list_sessions(cwd=f"{tmp_path.parent}")).sessions == []
            await editor.connection.load_session(cwd=f"{tmp_path}", session_id=session, mcp_servers=[])
            shown = editor.kinds()
            await editor.ask(session, "Second")
        first, second = ohm.store.session(session)

    assert (listed.session_id, listed.cwd, listed.title) == (session, f"{tmp_path}", "First")
    assert listed.field_meta == {"ohm/task": first.id, "ohm/status": "succeeded"}
    assert shown == ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
    assert editor.said("user_message_chunk") == "First"
    assert editor.said() == "Done.And more."
    assert second.assignment.resumed_from == first.id


async def test_a_task_of_any_door_is_a_session_by_its_id_and_is_loaded_when_it_ends(tmp_path):
    step = Step(text="Done.", events=(TextDelta(text="So far. "),), gate=anyio.Event())
    async with quick_ohm(step, "more") as ohm, editor_of(acp_agent(ohm)) as editor:
        handle = await ohm.start("finder", "Where?")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: editor.connection.load_session(f"{tmp_path}", handle.id))
            await editor.told("agent_message_chunk")
            with refused(r"is still running\. Wait for it to complete"):
                await editor.ask(handle.id, "More")
            step.gate.set()
        answer = await editor.ask(handle.id, "More")
        first, turned_away, second = ohm.store.session(ohm.task(handle.id).session_id)

    assert (first.id, turned_away.error.code, second.assignment.resumed_from) == (handle.id, "session_busy", handle.id)
    assert (second.status, answer.stop_reason) == ("succeeded", "end_turn")
    assert editor.said().startswith("So far. ")


async def test_a_task_of_any_door_is_cancelled_by_its_session(tmp_path):
    step = Step(events=(TextDelta(text="So far."),), gate=anyio.Event())
    async with quick_ohm(step) as ohm, editor_of(acp_agent(ohm)) as editor:
        handle = await ohm.start("finder", "Where?")
        await editor.connection.resume_session(cwd=f"{tmp_path}", session_id=handle.id)
        await editor.connection.cancel(session_id=handle.id)
        await handle.wait()
        assert ohm.task(handle.id).status == "cancelled"


async def test_a_closed_session_is_cancelled_and_gone(tmp_path):
    step = Step(events=(TextDelta(text="So far."),), gate=anyio.Event())
    async with quick_ohm(step) as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(editor.ask, session, "Go")
            await editor.told("agent_message_chunk")
            await editor.connection.close_session(session_id=session)
        (kept,) = ohm.store.session(session)
        with refused(f"There is no session '{session}' here"):
            await editor.ask(session, "Go")
    assert kept.status == "cancelled"


async def test_an_editor_that_leaves_cancels_its_prompt(tmp_path):
    step = Step(events=(TextDelta(text="So far."),), gate=anyio.Event())
    async with quick_ohm(step) as ohm:
        async with editor_of(acp_agent(ohm)) as editor, anyio.create_task_group() as group:
            session = await editor.opened(tmp_path)

            async def ask():
                with pytest.raises(ConnectionError):
                    await editor.ask(session, "Go")

            group.start_soon(ask)
            await editor.told("agent_message_chunk")
            await editor.connection.close()
        (kept,) = ohm.store.session(session)
    assert (kept.status, kept.text) == ("cancelled", "So far.")


async def test_the_subagent_is_a_mode_and_an_option_and_holds_from_the_next_prompt_on(tmp_path):
    async with quick_ohm("one", "two") as ohm, editor_of(acp_agent(ohm, profile="Finder")) as editor:
        begun = await editor.connection.new_session(cwd=f"{tmp_path}", mcp_servers=[])
        session = begun.session_id
        await editor.ask(session, "a")
        changed = await editor.connection.set_config_option(config_id="subagent", session_id=session, value="oracle")
        await editor.ask(session, "b")
        await editor.connection.set_session_mode(session_id=session, mode_id="finder")
        known = [profile.id for profile in ohm.profiles]
        used = [task.assignment.profile for task in ohm.store.session(session)]

    assert begun.modes.current_mode_id == "finder"
    assert [mode.id for mode in begun.modes.available_modes] == values(begun.config_options, "subagent") == known
    assert chosen(begun.config_options) == {"subagent": "finder", "model": "configured"}
    assert (chosen(changed.config_options)["subagent"], used) == ("oracle", ["finder", "oracle"])
    assert [update.current_mode_id for update in editor.of("current_mode_update")] == ["oracle"]
    assert chosen(editor.of("config_option_update")[0].config_options)["subagent"] == "finder"


async def test_the_model_is_an_option_with_those_that_the_configuration_names(tmp_path):
    provider = {"baseUrl": "http://127.0.0.1:1/v1", "models": [{"id": "m"}]}
    subagents = {"model": "openai/gpt-5:low", "finder": {"model": "groq/a"}, "librarian": {"model": "none"}}
    config = {"providers": {"own": provider}, "subagents": subagents, "editorSubagent": "oracle"}
    backend = ScriptedBackend("one")
    async with quick_ohm(backend=backend, config=config) as ohm, editor_of(acp_agent(ohm)) as editor:
        begun = await editor.connection.new_session(cwd=f"{tmp_path}", mcp_servers=[])
        session = begun.session_id
        await editor.connection.set_config_option(config_id="model", session_id=session, value="own/m")
        await editor.ask(session, "a")

    assert values(begun.config_options, "model")[:4] == ["configured", "openai/gpt-5:low", "groq/a", "own/m"]
    assert chosen(begun.config_options)["subagent"] == "oracle"
    assert f"{backend.calls[0].spec.model}" == "own/m"


async def test_the_names_of_the_menu_are_choices_too(tmp_path):
    config = {"subagents": {"models": {"fast": {"model": "acme/small", "fallback": ["deep"]}, "deep": "acme/big"}}}
    backend = ScriptedBackend("one")
    async with quick_ohm(backend=backend, config=config) as ohm, editor_of(acp_agent(ohm)) as editor:
        begun = await editor.connection.new_session(cwd=f"{tmp_path}", mcp_servers=[])
        session = begun.session_id
        changed = await editor.connection.set_config_option(config_id="model", session_id=session, value="fast")
        await editor.ask(session, "a")

    assert values(begun.config_options, "model")[:3] == ["configured", "fast", "deep"]
    assert chosen(changed.config_options)["model"] == "fast"
    assert f"{backend.calls[0].spec.model}" == "acme/small"


WRONG = {
    "a relative directory": (
        lambda editor, _: editor.opened("src"),
        r"There is no directory 'src'\. Name one by its absolute path\.",
    ),
    "a missing directory": (
        lambda editor, place: editor.opened(place / "gone"),
        r"There is no directory '.*/gone'\. Name one by its absolute path\.",
    ),
    "an unknown session to load": (
        lambda editor, place: editor.connection.load_session(cwd=f"{place}", session_id="s"),
        r"No session 's' is kept\. Settled tasks are removed after subagents\.taskRetentionMs\.",
    ),
    "an unknown session to ask": (
        lambda editor, _: editor.ask("s", "Go"),
        r"There is no session 's' here\. Begin one, or load it if it is an earlier one\.",
    ),
    "an unknown cursor": (
        lambda editor, _: editor.connection.list_sessions(cursor="x"),
        "The cursor 'x' is not one that a list has ended with",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_request_that_is_wrong_is_refused_in_one_sentence(tmp_path, wrong):
    send, sentence = WRONG[wrong]
    async with quick_ohm() as ohm, editor_of(acp_agent(ohm)) as editor:
        with refused(f"^{sentence}"):
            await send(editor, tmp_path)


async def test_a_choice_that_is_wrong_is_refused_with_those_that_are_allowed(tmp_path):
    async with quick_ohm() as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        for option, value, sentence in (
            ("subagent", "findr", "No subagent is called 'findr'. Did you mean 'finder'\\? Available: "),
            ("model", "gpt", "Invalid subagent model 'gpt'"),
            ("colour", "red", "There is no option 'colour'; allowed: 'subagent', 'model'"),
        ):
            with refused(sentence):
                await editor.connection.set_config_option(config_id=option, session_id=session, value=value)
    async with quick_ohm() as ohm, editor_of(acp_agent(ohm, profile="nobody")) as editor:
        with refused("No subagent is called 'nobody'. Available: "):
            await editor.opened(tmp_path)


async def test_a_misspelt_subagent_is_told_on_standard_error_too(tmp_path, capsys):
    (tmp_path / "ohm.json").write_text('{"subagentBackend": "none", "subagents": {"store": "memory"}}')
    ohms = OhmOfEachDirectory(config=tmp_path / "ohm.json", profile="findr")
    async with editor_of(agent_of(ohms, "findr")) as editor:
        with refused("Did you mean 'finder'?"):
            await editor.opened(tmp_path)
    await ohms.close()
    told = capsys.readouterr().err
    assert told.startswith("No subagent is called 'findr'. Did you mean 'finder'? Available: ")


async def test_a_prompt_while_one_is_running_is_refused(tmp_path):
    step = Step(events=(TextDelta(text="So far."),), gate=anyio.Event())
    async with quick_ohm(step) as ohm, editor_of(acp_agent(ohm)) as editor:
        session = await editor.opened(tmp_path)
        async with anyio.create_task_group() as group:
            group.start_soon(editor.ask, session, "Go")
            await editor.told("agent_message_chunk")
            with refused("Wait for its end, or cancel it"):
                await editor.ask(session, "And?")
            step.gate.set()


async def test_a_prompt_after_the_ohm_is_closed_says_so(tmp_path):
    async with quick_ohm() as ohm:
        agent = acp_agent(ohm)
    async with editor_of(agent) as editor:
        with refused("This Ohm is closed"):
            await editor.ask(await editor.opened(tmp_path), "Go")
