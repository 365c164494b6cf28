"""`ohm tasks export`: all that is kept, as lines that another program can read."""

from __future__ import annotations

import errno
import json
import os

import anyio
import pytest

from ohm_subagents._config.schema import OhmConfig
from ohm_subagents.cli.export import Export, export_tasks
from ohm_subagents.contract import Envelope


def exported(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_task_is_a_line_with_its_whole_answer_its_runs_and_its_events(ohm) -> None:
    ohm("run", "finder", "answer", "--backend", "stage")
    ohm("run", "finder", "big", "--backend", "stage")
    lines = exported(ohm("tasks", "export").stdout)
    assert [line["prompt"] for line in lines] == ["answer", "big"]
    small, big = lines
    assert {line["export_version"] for line in lines} == {"ohm.tasks.v1"}
    assert (len(big["output"]), big["output_truncated"]) == (big["output_total_chars"], False)
    assert (len(big["output"]) > 256 * 1024, big["runs"][0]["output"] == big["output"]) == (True, True)
    assert [event["kind"] for event in small["events"]][1:5] == [
        *("run_started", "tool_started", "tool_ended", "text_delta")
    ]
    envelope = json.loads(ohm("task", small["task_id"], "--json").stdout)
    assert {name: small[name] for name in envelope} == envelope
    ours = {"export_version", "created_at_epoch_ms", "started_at_epoch_ms", "updated_at_epoch_ms"}
    assert set(small) - set(Envelope.model_fields) == ours | {"ended_at_epoch_ms", "runs", "events"}


def test_a_session_can_be_exported_alone_and_the_conversation_only_when_asked_for(ohm) -> None:
    for prompt in ("remember", "two"):
        ohm("run", "finder", prompt, "--backend", "stage")
    one, _ = exported(ohm("tasks", "export").stdout)
    [alone] = exported(ohm("tasks", "export", "--session", one["session_id"], "--with-checkpoints").stdout)
    assert alone.pop("checkpoint") == "the conversation"
    assert alone == one


def test_a_file_is_private_whole_and_not_replaced_unless_forced(ohm) -> None:
    ohm("run", "finder", "one")
    file = ohm.root / "project" / "kept.jsonl"
    done = ohm("tasks", "export", "--output", "kept.jsonl")
    assert (done.returncode, done.stdout) == (0, "Wrote 1 task(s) to 'kept.jsonl'.\n")
    first = file.read_text(encoding="utf-8")
    assert (first, file.stat().st_mode & 0o777) == (ohm("tasks", "export").stdout, 0o600)

    ohm("run", "finder", "two")
    done = ohm("tasks", "export", "--output", "kept.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "The file 'kept.jsonl' exists. Type another name, or --force to replace it.\n"
    assert file.read_text(encoding="utf-8") == first

    file.chmod(0o644)
    assert ohm("tasks", "export", "--output", "kept.jsonl", "--force").returncode == 0
    assert ([line["prompt"] for line in exported(file.read_text())], file.stat().st_mode & 0o777) == (
        ["one", "two"],
        0o600,
    )
    assert [*(ohm.root / "project").iterdir()] == [file]


class Slow:
    """A store in which something happens while it is read."""

    place = "somewhere"

    def __init__(self, happens) -> None:
        self._happens = happens

    def tasks(self):
        self._happens()
        return iter(())


def export_to(file, happens, *, force=False) -> int:
    wanted = Export(session=None, file=file, force=force, with_checkpoints=False)
    return anyio.run(export_tasks, wanted, Slow(happens), OhmConfig())


def test_a_file_that_somebody_makes_meanwhile_is_not_replaced_unless_forced(tmp_path, capsys) -> None:
    file = tmp_path / "kept.jsonl"
    assert export_to(file, lambda: file.write_text("of somebody")) == 2
    assert "exists. Type another name" in capsys.readouterr().err
    assert ([*tmp_path.iterdir()], file.read_text()) == ([file], "of somebody")
    assert export_to(file, lambda: None, force=True) == 0
    assert ([*tmp_path.iterdir()], file.read_text()) == ([file], "")


def test_an_export_that_breaks_off_leaves_no_file(tmp_path, capsys) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert export_to(tmp_path / "kept.jsonl", full) == 1
    assert capsys.readouterr().err.endswith("cannot be written: No space left on device.\n")
    assert [*tmp_path.iterdir()] == []


def test_a_place_that_takes_no_file_is_one_sentence(ohm) -> None:
    ohm("run", "finder", "x")
    done = ohm("tasks", "export", "--output", "nowhere/kept.jsonl")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "The file 'nowhere/kept.jsonl' cannot be written: No such file or directory.\n"


@pytest.mark.slow
def test_a_stream_that_takes_no_unicode_gets_json_all_the_same(ohm, ohm_process) -> None:
    ohm("run", "finder", "Grüße 世界")
    ohm.env["PYTHONIOENCODING"] = "ascii"
    [line] = exported(ohm_process("tasks", "export").stdout)
    assert line["prompt"] == "Grüße 世界"
