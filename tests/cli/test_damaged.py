"""A damaged row through every command and the tool: it is told, and nothing else is lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from ohm_subagents import Ohm
from ohm_subagents.cli.tasks import print_tasks
from ohm_subagents.config import OhmConfig
from ohm_subagents.contract import Diagnostic, Err, ErrorCode, OhmError
from ohm_subagents.store import MemoryStore, TaskQuery
from ohm_subagents.testing import HERMETIC


@pytest.fixture
def damaged(ohm) -> tuple[str, str]:
    """The ids of a good task and of a damaged one."""
    ids = []
    for prompt in ("one", "two"):
        done = ohm("run", "finder", prompt, "--backend", "none", "--json")
        ids.append(json.loads(done.stdout)["task_id"])
    file = ohm.root / "config" / "ohm.subagents.tasks.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None)) as held:
        held.execute("UPDATE tasks SET status = '' WHERE id = ?", (ids[1],))
    return ids[0], ids[1]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("command", "code"),
    [(("tasks",), 0), (("tasks", "export"), 0), (("task", "GOOD"), 0), (("task", "BAD"), 1), (("doctor",), 0)],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_every_command_goes_on(ohm, damaged, command, code) -> None:
    good, bad = damaged
    done = ohm(*(part.replace("GOOD", good).replace("BAD", bad) for part in command))
    assert "Traceback" not in done.stderr
    assert done.returncode == code
    if command[-1] in {"tasks", "export"}:
        assert good in done.stdout
        assert bad not in done.stdout
    if command[-1] in {"tasks", "export", "BAD"}:
        assert f"Task '{bad}' cannot be read" in done.stderr
        assert len(done.stderr.splitlines()) == (1 if command[-1] != "BAD" else 2)


@pytest.mark.anyio
@pytest.mark.parametrize("op", ["status", "wait"])
async def test_a_good_task_is_told_of_beside_a_damaged_one(ohm, damaged, op) -> None:
    good, bad = damaged
    env = HERMETIC | {"PI_CONFIG_DIR": str(ohm.root / "config"), "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(env=env, config={"subagentBackend": "none"}) as opened:
        result = await opened.call("task", {"op": op, "ids": [good, bad, "nobody"]})
        assert [item["found"] for item in result.details["items"]] == [True, False, False]
        assert "cannot be read" in result.details["items"][1]["error_message"]
        assert opened.task(bad) is None
        assert any(bad in told.message for told in opened.diagnostics)
        assert (await opened.run("finder", "and again")).ok_value.status == "succeeded"


class Partial(MemoryStore):
    """Has one task, which it cannot read."""

    def list(self, query):
        del query
        yield Err(OhmError(code=ErrorCode.UNKNOWN_TASK_ID, message="Task 'x' cannot be read."))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("diagnostics", "told"), [((), "Task 'x' cannot be read.\n"), (("Task 'x' cannot be read.",), "")]
)
async def test_a_task_that_a_store_cannot_read_is_told_of_once(capsys, diagnostics, told) -> None:
    store = Partial(lambda: 0, diagnostics=tuple(Diagnostic(subject="store", message=each) for each in diagnostics))
    assert await print_tasks(TaskQuery(), 5, store, OhmConfig(), as_json=False) == 0
    assert capsys.readouterr().err == told
