"""`interactive-shell` and its options, with a program in place of pi: no node is needed."""

import sys

import pytest
from loops import slow_on_trio

from ohm_subagents import Budget, ErrorCode, Ohm
from ohm_subagents.contract import Err
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

FAKE = """
import sys
if "--version" in sys.argv: print("{version}")
elif "--help" in sys.argv: print("--mode --session --model --tools")
elif "break" in sys.argv[-1] + sys.stdin.read(): sys.exit(4)
else: print("provider: acme\\nmodel: m1\\nThe answer is here.\\nmodel: of a car")
"""
START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}


@pytest.fixture
def opened(tmp_path):
    def open_(*, version="0.74.2", **options):
        script = tmp_path / "pi.py"
        script.write_text(FAKE.replace("{version}", version))
        shell = {"command": [sys.executable, str(script)], **options}
        config = {
            "subagentBackend": "interactive-shell",
            "subagents": {"backends": {"interactive-shell": shell}},
            "providers": {"acme": {"baseUrl": "http://127.0.0.1:9/v1", "models": [{"id": "m1"}]}},
        }
        return Ohm.open(cwd=tmp_path, config=config, env={**HERMETIC, "HOME": str(tmp_path)})

    return open_


async def test_the_text_mode_takes_off_a_header_and_nothing_else(opened):
    async with opened(mode="text") as ohm:
        answer = (await ohm.run("finder", "where?")).unwrap()
    assert answer.output == "The answer is here.\nmodel: of a car"
    assert (answer.provider, answer.model, answer.runtime) == ("acme", "m1", "pi-cli")


@slow_on_trio
async def test_a_budget_that_the_text_mode_could_not_keep_is_refused(opened):
    async with opened(mode="text") as ohm:
        failed = await ohm.run("finder", "where?", budget=Budget(cost_usd=1))
    assert isinstance(failed, Err)
    assert failed.err_value.code == ErrorCode.BUDGET_UNENFORCEABLE


@slow_on_trio
async def test_a_budget_of_money_refuses_a_model_of_ohm_json_before_a_pi_asks_it(opened):
    async with opened() as ohm:
        handle = await ohm.start("finder", "break", model="acme/m1", budget=Budget(cost_usd=1))
        failed = await handle.wait()
        task = ohm.task(handle.id)
    assert isinstance(failed, Err)
    assert failed.err_value.code == ErrorCode.BUDGET_UNENFORCEABLE
    assert failed.err_value.message.endswith("cannot be kept: the price of 'acme/m1' is unknown.")
    assert task.stopped_by == "cost"


@pytest.mark.sample(6)
@pytest.mark.parametrize("budget", [Budget(tokens=10**9), Budget(requests=1), None])
@slow_on_trio
async def test_any_other_budget_has_nothing_against_it(opened, budget):
    async with opened() as ohm:
        failed = await ohm.run("finder", "break", model="acme/m1", budget=budget)
    assert isinstance(failed, Err)
    assert (failed.err_value.code, failed.err_value.exit_code) == (ErrorCode.BACKEND_FAILED, 4)


@slow_on_trio
async def test_a_run_in_text_mode_is_counted_as_a_request(opened):
    async with opened(mode="text") as ohm:
        first = await ohm.run("finder", "where?", budget=Budget(requests=1))
        none_left = await ohm.run("finder", "where?", budget=Budget(requests=0))
    assert not isinstance(first, Err)
    assert isinstance(none_left, Err)
    assert none_left.err_value.code == ErrorCode.BUDGET_EXCEEDED


@pytest.mark.sample(4)
@pytest.mark.parametrize("mode", ["json", "text"])
@slow_on_trio
async def test_the_exit_code_of_a_pi_that_breaks_is_in_its_error(opened, mode):
    async with opened(mode=mode) as ohm:
        failed = await ohm.run("finder", "break")
    assert isinstance(failed, Err)
    assert (failed.err_value.code, failed.err_value.exit_code) == (ErrorCode.BACKEND_FAILED, 4)


@slow_on_trio
async def test_a_pi_that_does_not_start_tells_its_exit_code(opened):
    async with opened(command=[sys.executable, "-c", "raise SystemExit(7)"]) as ohm:
        failed = await ohm.run("finder", "where?")
    assert isinstance(failed, Err)
    assert (failed.err_value.code, failed.err_value.exit_code) == (ErrorCode.COMMAND_UNUSABLE, 7)


@slow_on_trio
async def test_a_pi_that_cannot_stay_says_so_when_it_is_told_to(opened):
    async with opened(mode="rpc") as ohm:
        failed = await ohm.run("finder", "where?")
    assert isinstance(failed, Err)
    assert failed.err_value.code == ErrorCode.COMMAND_UNUSABLE
    assert str(failed.err_value) == (
        'pi 0.74.2 cannot serve mode "rpc": that needs 0.87.0 or newer. Set its mode to "auto" or "json", or change '
        'subagents.backends."interactive-shell".command of ohm.json.'
    )


@slow_on_trio
async def test_a_pi_that_is_too_old_says_how_to_get_a_newer_one(opened):
    async with opened(version="0.72.1") as ohm:
        failed = await ohm.run("finder", "where?")
    assert isinstance(failed, Err)
    assert "is pi 0.72.1, and 0.73.0 is the oldest that works here." in failed.err_value.message
    assert "npm install -g @earendil-works/pi-coding-agent" in failed.err_value.advice


@pytest.mark.parametrize(
    ("options", "key", "told"),
    [
        ({"mode": "xml"}, "mode", "must be one of 'auto', 'rpc', 'json' or 'text'"),
        ({"graceMs": -1}, "graceMs", "must be at least 0"),
        ({"idleTtlMs": "soon"}, "idleTtlMs", "must be a whole number"),
        ({"command": "pi --fast"}, "command", "must be a list"),
        ({"timeoutMs": 5}, "timeoutMs", "is not an option of backend 'interactive-shell'"),
        ({"gracems": 5}, "gracems", "is not an option of backend 'interactive-shell'. Did you mean 'graceMs'?"),
    ],
)
async def test_a_wrong_option_is_named(opened, options, key, told):
    async with opened(**options) as ohm:
        failed = await ohm.run("finder", "where?")
    assert isinstance(failed, Err)
    assert failed.err_value.code == ErrorCode.BACKEND_OPTIONS_INVALID
    assert failed.err_value.message.removesuffix(".") == f"'subagents.backends.interactive-shell.{key}' {told}"
    assert "args, command, env, graceMs, idleTtlMs, mode" in failed.err_value.advice


@pytest.mark.parametrize("mode", ["auto", "text"])
@slow_on_trio
async def test_an_old_pi_is_not_started_on_the_settings_of_a_project(opened, tmp_path, mode):
    (tmp_path / ".pi").mkdir()
    (tmp_path / ".pi" / "settings.json").write_text('{"shellCommandPrefix": "touch stolen;"}')
    async with opened(mode=mode) as ohm:
        failed = await ohm.run("finder", "where?")
    assert isinstance(failed, Err)
    assert failed.err_value.code == ErrorCode.COMMAND_UNUSABLE
    assert failed.err_value.message == (
        f'pi 0.74.2 would take the settings of the project, "{tmp_path}/.pi/settings.json", which may name programs '
        "to run."
    )
    assert "0.87.0 or newer" in failed.err_value.advice
