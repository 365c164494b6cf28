"""The record of a sticky session, and the words for one that cannot be used."""

import errno
import os

import anyio
import pytest
from sticky_place import ASK, ID, files, found, hand_in

from ohm_subagents.contract import UNREADABLE_SESSION, Checkpointed, DiagnosticRaised
from ohm_subagents.plugin import Capability

pytestmark = pytest.mark.anyio

SESSION = ASK | {"sessionId": ID}
DURABLE = {"OHM_SUBAGENTS_STORE": "sqlite"}


def folder(place):
    return next((place / ".pi" / "subagent-sessions").iterdir())


def body(result):
    return result.text.partition("---\n\n")[2]


async def test_the_file_is_newer_than_what_a_store_knows(place, opened):
    for config_dir, task in (("a", "one"), ("b", "two"), ("a", "three")):
        async with opened(env=DURABLE | {"PI_CONFIG_DIR": str(place / config_dir)}) as ohm:
            await ohm.call("subagent", SESSION | {"task": task})

    assert [file.read_text() for file in files(place)] == ["one;two;three;"]


async def test_a_turn_whose_caller_is_cancelled_is_kept(place, opened):
    async def act(request, sink):
        sink.emit(Checkpointed(state="so far;"))
        scope.cancel()
        await anyio.sleep_forever()

    async with opened(act) as ohm:
        with anyio.CancelScope() as scope:
            await ohm.call("subagent", SESSION)

    assert [file.read_text() for file in files(place)] == ["so far;"]


@pytest.mark.parametrize(
    ("stored", "kept"),
    [
        *((text, "corrupt") for text in ("damaged", '{"messages": [', "[]", "\n", '"x"\n{}')),
        *((text, "other-backend") for text in ('{"messages": []}', '{"type": "session"}\n{"type": "mess')),
    ],
)
async def test_a_session_that_the_backend_cannot_read_is_put_aside_and_the_caller_told(place, opened, stored, kept):
    async def unable(request, sink):
        if request.checkpoint == stored:
            sink.emit(DiagnosticRaised(diagnostic=UNREADABLE_SESSION))
        await hand_in(request, sink, status="SUCCESS", result="x")
        sink.emit(Checkpointed(state="anew;"))
        return ""

    async with opened(unable, clock=lambda: 77) as ohm:
        await ohm.call("subagent", SESSION)
        files(place)[0].write_text(stored)
        result = await ohm.call("subagent", SESSION)

    aside = files(place)[0].with_name(f"scout_{ID}.jsonl.{kept}-77")
    assert result.details["resumed"] is False
    assert result.details["notes"] == [UNREADABLE_SESSION.message, f"It is kept as '{aside}'."]
    assert (files(place)[0].read_text(), aside.read_text()) == ("anew;", stored)


async def test_a_session_that_cannot_be_read_is_refused_and_left_as_it_is(place, opened):
    async with opened() as ohm:
        await ohm.call("subagent", SESSION)
        (file,) = files(place)
        file.unlink()
        file.mkdir()
        result = await ohm.call("subagent", SESSION)

    assert len(ohm.acting.requests) == 1
    assert body(result) == f"The session file '{file}' cannot be read: {os.strerror(errno.EISDIR).lower()}."


async def test_a_name_that_is_too_long_for_a_file_is_refused(place, opened):
    agent = "a" * 200
    (place / "work" / "prompts" / "long.md").write_text(f"---\nname: {agent}\n---\nx")
    async with opened() as ohm:
        result = await ohm.call("subagent", ASK | {"agent": agent, "sessionId": "b" * 100})

    assert ohm.acting.requests == []
    assert body(result).endswith(f"cannot be read: {os.strerror(errno.ENAMETOOLONG).lower()}.")


async def test_a_turn_that_cannot_be_kept_is_told_and_leaves_nothing_half_written(place, opened):
    async def act(request, sink):
        answer = await found(request, sink)
        (folder(place) / f"scout_{ID}.jsonl").mkdir()
        return answer

    async with opened(act) as ohm:
        result = await ohm.call("subagent", SESSION)

    (note,) = result.details["notes"]
    assert result.details["finalized"]["status"] == "SUCCESS"
    assert note.startswith("This turn cannot be kept in the session file")
    assert [file.suffix for file in folder(place).iterdir()] == [".jsonl"]


async def test_a_call_that_is_refused_begins_no_session(place, opened):
    async with opened(capabilities=frozenset({Capability.SESSIONS})) as ohm:
        refused = await ohm.call("subagent", SESSION)
    aborted = anyio.Event()
    aborted.set()
    async with opened() as ohm:
        cancelled = await ohm.call("subagent", SESSION, abort=aborted)
        result = await ohm.call("subagent", SESSION)

    assert "subagent_finalize" in body(refused)
    assert body(cancelled) == "The subagent was cancelled."
    assert result.details["resumed"] is False


async def test_the_title_of_a_redacted_task_holds_no_half_of_a_secret(opened):
    key = "qux-" + "7Hk2" * 8
    async with opened(env={"QUX_TOKEN": key}, config={"subagents": {"redact": ["sticky"]}}) as ohm:
        await ohm.call("subagent", ASK | {"task": f"Ask the service with the secret word of ours, which is {key}"})
        (task,) = ohm.store.tasks()

    assert task.assignment.description == "Ask the service with the secret word of ours, which is [RED…"
