"""A sticky conversation on the in-process backend, on a real model server, over a restart of the host."""

import pytest
from model_server import Call, ModelServer, Say
from pi_streams import TRANSCRIPTS

from ohm_subagents import Ohm
from ohm_subagents.contract import UNREADABLE_SESSION
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

FINALIZE = "subagent_finalize"
SCOUT = "---\nname: scout\ndescription: Looks.\napproved_tools: [read]\n---\nYou look.\n"


@pytest.fixture
def anyio_backend():
    """pydantic-ai runs on asyncio only."""
    return "asyncio"


def final(result):
    return Say(Call(FINALIZE, {"status": "SUCCESS", "result": result}))


def opened(place, server):
    (place / "prompts").mkdir(exist_ok=True)
    (place / "prompts" / "scout.md").write_text(SCOUT)
    config = {"providers": {"acme": {"baseUrl": server.url}}, "subagents": {"model": "acme/m1"}}
    return Ohm.open(cwd=place, env=HERMETIC | {"HOME": str(place)}, config=config, suites=["sticky"])


async def test_three_turns_go_on_over_a_restart_of_the_host(tmp_path):
    replies = [each for n in range(3) for each in (final(f"answer {n}"), Say("Bye."))]
    async with ModelServer(*replies) as server:
        async with opened(tmp_path, server) as ohm:
            first = await ohm.call("subagent", {"agent": "scout", "task": "one"})
            session = {"agent": "scout", "sessionId": first.details["sessionId"]}
            second = await ohm.call("subagent", session | {"task": "two"})
        async with opened(tmp_path, server) as ohm:
            third = await ohm.call("subagent", session | {"task": "three"})
        asked = server.requests

    results = [one.details["finalized"].get("result") for one in (first, second, third)]
    assert results == ["answer 0", "answer 1", "answer 2"]
    told = [message["content"] for message in asked[4].messages if message["role"] == "user"]
    assert told == ["one", "two", "three"]
    assert sorted(asked[0].tool_names) == ["read", FINALIZE]
    assert "End with a call" in asked[0].messages[0]["content"]


async def test_a_child_that_hands_in_nothing_is_corrected_and_an_invalid_call_is_told(tmp_path):
    replies = (Say("I am done."), final(" "), final("at last"), Say("Bye."))
    async with ModelServer(*replies) as server, opened(tmp_path, server) as ohm:
        result = await ohm.call("subagent", {"agent": "scout", "task": "one"})
        asked = server.requests

    assert result.details["finalized"] == {"status": "SUCCESS", "result": "at last"}
    assert "did not call it" in asked[1].prompt
    assert "SUCCESS requires a result" in asked[2].tool_results[-1]


@pytest.mark.slow
async def test_a_session_that_was_cut_short_is_put_aside_and_begun_anew(tmp_path):
    replies = [each for n in range(2) for each in (final(f"answer {n}"), Say("Bye."))]
    async with ModelServer(*replies) as server:
        async with opened(tmp_path, server) as ohm:
            first = await ohm.call("subagent", {"agent": "scout", "task": "one"})
        (file,) = (tmp_path / ".pi" / "subagent-sessions").glob("*/*.jsonl")
        whole = file.read_text()
        file.write_text(whole[:-20])
        async with opened(tmp_path, server) as ohm:
            session_id = first.details["sessionId"]
            second = await ohm.call("subagent", {"agent": "scout", "task": "two", "sessionId": session_id})

    (aside,) = file.parent.glob("*.corrupt-*")
    assert (second.details["resumed"], second.details["finalized"]["result"]) == (False, "answer 1")
    assert second.details["notes"] == [UNREADABLE_SESSION.message, f"It is kept as '{aside}'."]
    assert aside.read_text() == whole[:-20]
    assert "two" in file.read_text()


async def test_a_sound_file_of_another_backend_is_kept_beside_and_the_conversation_goes_on(tmp_path):
    of_pi = (TRANSCRIPTS / "pi-1.5.2-session.jsonl").read_text()
    replies = [each for n in range(2) for each in (final(f"answer {n}"), Say("Bye."))]
    async with ModelServer(*replies) as server, opened(tmp_path, server) as ohm:
        first = await ohm.call("subagent", {"agent": "scout", "task": "one"})
        (file,) = (tmp_path / ".pi" / "subagent-sessions").glob("*/*.jsonl")
        file.write_text(of_pi)
        session = {"agent": "scout", "sessionId": first.details["sessionId"]}
        await ohm.call("subagent", session | {"task": "two"})
        asked = server.requests

    (aside,) = (one for one in file.parent.iterdir() if one != file)
    assert (aside.name.partition(".jsonl.")[2].rpartition("-")[0], aside.read_text()) == ("other-backend", of_pi)
    assert [one["content"] for one in asked[2].messages if one["role"] == "user"] == ["one", "two"]
