"""structlog: silent until the host listens, one table of names and fields."""

import logging
import subprocess
import sys

import pytest
import structlog
from loops import one_loop

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents._orchestrator.observe.log import LINES
from ohm_subagents.contract import Event, OhmError, ToolEnded, ToolStarted
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio

COMMON = (
    *("task_id", "session_id", "parent", "run", "profile"),
    *("backend", "provider", "model", "runtime", "route", "status"),
)
"""The fields of every line."""


async def lines_of(*steps):
    lines = structlog.testing.LogCapture()
    logger = structlog.wrap_logger(None, processors=[lines])
    async with Ohm.open(
        env=HERMETIC,
        config={"subagentBackend": "scripted"},
        plugins=[ScriptedBackend(*steps)],
        logger=logger,
        clock=lambda: 0,
        new_task_id=lambda: "task_1",
    ) as ohm:
        await ohm.run("finder", "a secret prompt")
    return lines.entries


async def test_a_run_is_told_in_lines_with_the_same_fields():
    call = {"call_id": "c1", "tool": "read"}
    step = Step(
        events=(ToolStarted(**call, args="secret"), ToolEnded(**call, status="success", text="secret")), text="x"
    )

    lines = await lines_of(step)

    assert [line["event"] for line in lines] == [
        "task.queued",
        "run.started",
        "tool.started",
        "tool.ended",
        "run.ended",
        "task.settled",
    ]
    added = {line.name: set(line.adds) for line in LINES.values()}
    for line in lines:
        assert line.keys() == {"event", "log_level", *COMMON} | added[line["event"]]
    assert {line["task_id"] for line in lines} == {"task_1"}
    assert "secret" not in str(lines)


async def test_a_failure_is_a_warning_with_code_and_category():
    lines = await lines_of(Step(error=OhmError(code=ErrorCode.PROVIDER_RATE_LIMITED, message="Slow down.")))

    last = lines[-1]
    assert (last["log_level"], last["error_code"], last["error_category"], last["outcome"]) == (
        "warning",
        "provider_rate_limited",
        "runtime",
        "failed",
    )


async def test_the_default_logger_is_the_stdlib_logger_of_the_package(caplog):
    caplog.set_level(logging.INFO, logger="ohm_subagents")
    async with quick_ohm("x") as ohm:
        await ohm.run("finder", "x")

    assert [record.message for record in caplog.records if record.name == "ohm_subagents"] == [
        "task.queued",
        "run.started",
        "run.ended",
        "task.settled",
    ]
    assert caplog.records[-1].task_id == "task_1"


@one_loop
async def test_what_of_ohm_json_is_not_honoured_is_logged_once_when_an_ohm_opens(tmp_path):
    for config, level, said in (
        ({"zzz": 1, "subagentBackend": "none"}, "warning", "'zzz' is not a known key"),
        (tmp_path / "missing.json", "error", "missing.json"),
    ):
        lines = structlog.testing.LogCapture()
        async with Ohm.open(env=HERMETIC, config=config, logger=structlog.wrap_logger(None, processors=[lines])) as ohm:
            await ohm.run("finder", "look")
        [line] = [one for one in lines.entries if one["event"].startswith("config.")]
        assert (line["log_level"], said in line["diagnostic"]) == (level, True)


def test_nothing_is_printed_when_nobody_listens():
    program = (
        "from ohm_subagents import run_sync\n"
        "from ohm_subagents.testing import HERMETIC\n"
        "run_sync('finder', 'x', config={'subagentBackend': 'nope'}, env=HERMETIC)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("", "")


def test_streamed_text_payloads_of_tools_and_steps_of_usage_or_of_a_feed_are_not_logged():
    unlogged = {kind.__name__ for kind in {*Event.__args__} - LINES.keys()}

    texts = {"TextDelta", "ThinkingDelta", "ToolUpdated"}
    assert unlogged == {*texts, "AgentEnded", "UsageAdded", "AccountCharged", "FeedRead", "Checkpointed"}
