"""The session file of `pi`."""

import json

import pytest
from pi_streams import TRANSCRIPTS, request

from ohm_subagents._plugins.backends.request import Exchange
from ohm_subagents.backends.pi.session import SessionFile
from ohm_subagents.contract import Checkpointed, DiagnosticRaised

SESSIONS = sorted(TRANSCRIPTS.glob("pi-*-session*.jsonl"))
UNREADABLE = (
    "The stored conversation of this session cannot be read; the run continues from its prompts and answers alone."
)


def records(text: str) -> list[dict]:
    return [json.loads(line) for line in text.split("\n") if line]


@pytest.mark.parametrize("recorded", SESSIONS, ids=lambda file: file.stem)
def test_a_conversation_goes_on_in_the_directory_of_its_new_run(tmp_path, recorded):
    file, checkpoint = tmp_path / "s.jsonl", recorded.read_bytes().decode()
    assert list(SessionFile(file).write(request(checkpoint=checkpoint))) == []
    header, *entries = records(file.read_bytes().decode())

    assert header == {**records(checkpoint)[0], "cwd": "/repo/tree"}
    assert entries == records(checkpoint)[1:]


@pytest.mark.parametrize(
    "checkpoint",
    ["", "not json", '{"messages":[]}', '[{"type":"session"}]', '{"type":"session","version":2}\n', "\x00\ud800"],
)
def test_a_state_of_another_backend_is_not_used_and_the_history_is(tmp_path, checkpoint):
    file = tmp_path / "s.jsonl"
    history = (Exchange(prompt="first?", output="first."), Exchange(prompt="failed?", output=""))
    told = SessionFile(file).write(request(checkpoint=checkpoint, history=history))
    header, *entries = records(file.read_text())

    assert [event.diagnostic.message for event in told] == [UNREADABLE]
    assert (header["type"], header["version"], header["cwd"]) == ("session", 3, "/repo/tree")
    assert [(entry["message"]["role"], entry["message"]["content"][0]["text"]) for entry in entries] == [
        ("user", "first?"),
        ("assistant", "first."),
        ("user", "failed?"),
    ]
    assert [entry["parentId"] for entry in entries] == [None, *(entry["id"] for entry in entries[:-1])]


def test_a_new_session_has_no_file_until_pi_makes_one(tmp_path):
    session = SessionFile(tmp_path / "s.jsonl")

    assert list(session.write(request())) == []
    assert list(tmp_path.iterdir()) == []
    assert list(session.grown()) == list(session.flush()) == []


def line(**record: object) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"


HEADER = line(type="session", version=3, id="x", cwd="/repo/tree")
USER = line(type="message", message={"role": "user", "content": "q"})
ANSWER = line(type="message", message={"role": "assistant", "content": [{"type": "text", "text": "a" * 100}]})


def states(events: object) -> list[str]:
    return [event.state for event in events if isinstance(event, Checkpointed)]


def test_a_state_is_told_when_the_conversation_has_grown_by_a_quarter_and_at_the_end(tmp_path):
    file = tmp_path / "s.jsonl"
    session = SessionFile(file)
    session.write(request())
    text = HEADER + USER
    file.write_text(text)
    assert states(session.grown()) == []  # until the model has spoken, there is nothing to continue from

    told = []
    for _ in range(40):
        text += ANSWER
        file.write_text(text)
        told += states(session.grown())
    assert 8 < len(told) < 20
    assert sum(map(len, told)) < 6 * len(text)

    assert states(session.flush()) == ([] if told[-1] == text else [text])
    assert states(session.flush()) == []


def test_a_resumed_conversation_is_told_again_only_when_it_has_grown(tmp_path):
    session = SessionFile(tmp_path / "s.jsonl")
    session.write(request(checkpoint=HEADER + USER + ANSWER))
    assert states(session.flush()) == []

    with (tmp_path / "s.jsonl").open("a") as file:
        file.write(ANSWER)
    [state] = states(session.flush())
    assert state.endswith(ANSWER + ANSWER)


def test_a_line_that_pi_has_not_finished_is_left_out(tmp_path):
    file = tmp_path / "s.jsonl"
    session = SessionFile(file)
    file.write_text(HEADER + USER + ANSWER + ANSWER[:40])

    assert states(session.flush()) == [HEADER + USER + ANSWER]


def test_a_file_that_is_no_session_is_not_kept(tmp_path):
    (tmp_path / "s.jsonl").write_text(ANSWER * 3)

    assert states(SessionFile(tmp_path / "s.jsonl").flush()) == []


def test_a_conversation_too_large_to_keep_is_told_once(tmp_path):
    file = tmp_path / "s.jsonl"
    session = SessionFile(file)
    with file.open("wb") as large:
        large.truncate(64_000_001)

    told = [*session.grown(), *session.grown(), *session.flush()]

    assert [type(event) for event in told] == [DiagnosticRaised]
