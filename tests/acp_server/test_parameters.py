"""Parameters of an editor that count for nothing: in the answer, or refused if they restrain a subagent."""

import pytest
from acp_editor import editor_of, refused

from ohm_subagents.acp import acp_agent
from ohm_subagents.testing import quick_ohm

pytestmark = pytest.mark.anyio


async def test_directories_beside_the_one_of_the_session_are_told_as_ignored(tmp_path):
    async with quick_ohm() as ohm, editor_of(acp_agent(ohm)) as editor:
        plain = await editor.connection.new_session(cwd=f"{tmp_path}", mcp_servers=[])
        more = await editor.connection.new_session(
            cwd=f"{tmp_path}", mcp_servers=[], additional_directories=[f"{tmp_path.parent}"]
        )

    assert plain.field_meta is None
    assert more.field_meta == {"ohm/ignored": ["additionalDirectories"]}


REFUSING = ["new", "load", "resume", "prompt", "set_mode", "set_config_option"]
TELLING = ["initialize", "session/list", "session/close"]


@pytest.mark.parametrize("method", [f"session/{one}" for one in REFUSING])
def test_a_parameter_that_restrains_a_subagent_is_refused_and_any_other_is_named(method):
    from ohm_subagents.acp.parameters import ignored

    assert ignored(method, {"_meta": {"x": 1}, "colour": "red", "isolation": None}) == ("colour",)
    with refused("does not take 'isolation'"):
        ignored(method, {"isolation": "worktree"})


@pytest.mark.parametrize("method", TELLING)
def test_a_method_that_gives_a_subagent_nothing_to_do_names_each_parameter_that_it_does_not_have(method):
    from ohm_subagents.acp.parameters import ignored

    assert ignored(method, {"_meta": {"x": 1}, "isolation": "worktree"}) == ("isolation",)


async def test_each_answer_lists_what_was_ignored(tmp_path):
    async with quick_ohm() as ohm, editor_of(acp_agent(ohm)) as editor:
        wire = editor.connection._conn  # the methods of the client send nothing unknown
        begun = await wire.send_request("initialize", {"protocolVersion": 1, "colour": "red"})
        made = await wire.send_request("session/new", {"cwd": f"{tmp_path}", "mcpServers": [], "colour": "red"})
        session = {"sessionId": made["sessionId"], "colour": "red"}
        moded = await wire.send_request("session/set_mode", {**session, "modeId": made["modes"]["currentModeId"]})
        choice = made["configOptions"][0]
        chosen = {**session, "configId": choice["id"], "value": choice["currentValue"]}
        set_option = await wire.send_request("session/set_config_option", chosen)
        listed = await wire.send_request("session/list", {"colour": "red"})
        closed = await wire.send_request("session/close", session)

    for answer in (begun, made, moded, set_option, listed, closed):
        assert answer["_meta"]["ohm/ignored"] == ["colour"]


def test_a_first_request_with_an_unknown_parameter_is_left_to_the_library():
    from ohm_subagents.acp.greeting import first_answer

    asked = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1%s}}'
    assert first_answer(asked % b"") is not None
    assert first_answer(asked % b', "isolation": "worktree"') is None


def test_a_parameter_of_an_unknown_method_is_left_to_it():
    from ohm_subagents.acp.parameters import ignored

    assert ignored("session/fork", {"isolation": "worktree"}) == ()
    assert ignored("session/new", None) == ()
