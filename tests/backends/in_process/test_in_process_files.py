"""The files that a run writes are told as it happens."""

from pathlib import Path

import anyio
import pytest
from fake_engine import StoryLog
from model_server import Call, ModelServer, Say, Stall
from subagent_runs import EventLog, acme, opened, request

from ohm_subagents.contract import FileChanged

pytestmark = pytest.mark.anyio

WRITING = ("read", "write", "edit")


async def changed_by(cwd: Path, *calls: Call) -> StoryLog:
    log = StoryLog()
    async with ModelServer(*(Say(call) for call in calls), Say("Done.")) as server, opened(acme(server)) as backend:
        await backend.run(request(cwd=cwd, tools=WRITING), log)
    return log


async def test_each_write_and_each_edit_is_told_once_before_the_call_ends(tmp_path: Path) -> None:
    log = await changed_by(
        tmp_path,
        Call("write", {"path": "src/new.py", "content": "one = 1\n"}),
        Call("edit", {"path": "src/new.py", "oldText": "1", "newText": "2"}),
    )
    assert [event.path for event in log.of(FileChanged)] == ["src/new.py", "src/new.py"]
    assert [kind for kind in log.story if kind in {"file_changed", "tool_ended"}] == ["file_changed", "tool_ended"] * 2


@pytest.mark.parametrize("path", ["./src/../new.py", "{cwd}/new.py"])
async def test_the_path_is_relative_to_the_working_directory(tmp_path: Path, path: str) -> None:
    (tmp_path / "src").mkdir()
    log = await changed_by(tmp_path, Call("write", {"path": path.format(cwd=tmp_path), "content": ""}))
    assert [event.path for event in log.of(FileChanged)] == ["new.py"]


async def test_what_failed_changed_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    log = await changed_by(
        tmp_path,
        Call("read", {"path": "a.txt"}),
        Call("edit", {"path": "a.txt", "oldText": "no such text", "newText": "b"}),
        Call("write", {"path": "../outside.txt", "content": "b"}),
        Call("write", {"path": "a.txt/below", "content": "b"}),
    )
    assert log.of(FileChanged) == []


async def test_a_file_is_told_even_when_the_run_never_ends(tmp_path: Path) -> None:
    log = EventLog()
    script = (Say(Call("write", {"path": "a.txt", "content": "a"})), Stall())
    async with (
        ModelServer(*script) as server,
        opened(acme(server)) as backend,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(backend.run, request(cwd=tmp_path, tools=WRITING), log)
        await server.until(lambda seen: len(seen.requests) == 2)
        assert [event.path for event in log.of(FileChanged)] == ["a.txt"]
        tasks.cancel_scope.cancel()
