"""A task that continues another runs as that was started; what the configuration of now would change is told."""

import json
from dataclasses import replace

import pytest
from acting import ActingBackend
from model_server import ModelServer, Say

from ohm_subagents import Err, ErrorCode, Limits, Ohm
from ohm_subagents._views.launch import launch_lines
from ohm_subagents.contract import Profile
from ohm_subagents.plugin import RouteResolved

pytestmark = pytest.mark.anyio
RESUME = {"sendToFinished": "resume"}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def server():
    with ModelServer(lambda _: Say("Done.")) as server:
        yield server


@pytest.fixture
def opened(tmp_path, server):
    def opened(cwd=None, *, plugins=(), **subagents):
        (tmp_path / "home").mkdir(exist_ok=True)
        config = {"providers": {"acme": {"baseUrl": server.url}}, "subagents": {**RESUME, **subagents}}
        env = {"HOME": str(tmp_path / "home"), "PATH": ""}
        return Ohm.open(cwd=cwd or tmp_path, env=env, config=config, plugins=plugins)

    return opened


def told(envelope):
    return [line for line in envelope.diagnostics or [] if "as task" in line or "Stricter" in line or "Changed" in line]


async def begun(ohm, **options):
    return (await ohm.run("finder", "look", **options)).unwrap()


async def continued(ohm, envelope):
    result = await ohm.handle(envelope.task_id).send("go on")
    return result.unwrap()


async def test_under_the_same_configuration_nothing_is_told(opened):
    async with opened(model="acme/big") as ohm:
        first = await begun(ohm)
    async with opened(model="acme/big") as ohm:
        second = await continued(ohm, first)

    assert told(second) == []
    assert second.launch_digest == first.launch_digest


async def test_the_model_and_the_limits_stay_when_the_configuration_names_others(opened, server):
    async with opened(model="acme/big:high", finder={"limits": {"capMs": 60_000}}) as ohm:
        first = await begun(ohm)
    async with opened(model="acme/small", finder={"limits": {"capMs": 120_000}}) as ohm:
        second = await continued(ohm, first)
        launch = ohm.task(second.task_id).launch

    assert [one.body["model"] for one in server.requests] == ["big", "big"]
    assert told(second) == [
        f"It goes on as task '{first.task_id}' was started: model acme/big:high (now acme/small); limits.capMs 60000 "
        "(now 120000). Start a new task for the settings of now."
    ]
    assert (str(launch.model), launch.limits.cap_ms) == ("acme/big:high", 60_000)


async def test_a_session_keeps_its_model_unless_the_call_names_another(opened, server):
    async with opened(model="acme/big") as ohm:
        first = await begun(ohm, session="s-1")
    async with opened(model="acme/small") as ohm:
        second = (await ohm.run("finder", "again", session="s-1")).unwrap()
        third = (await ohm.run("finder", "again", session="s-1", model="acme/small")).unwrap()

    assert [one.body["model"] for one in server.requests] == ["big", "big", "small"]
    assert "model acme/big (now acme/small)" in told(second)[0]
    assert told(third) == []
    assert third.resumed_from == second.task_id
    assert second.resumed_from == first.task_id


async def test_a_tool_that_is_denied_since_is_not_given_and_a_new_one_neither(opened, server):
    async with opened(model="acme/big", finder={"tools": {"allow": ["read", "grep"]}}) as ohm:
        first = await begun(ohm)
    async with opened(model="acme/big", finder={"tools": {"allow": ["read", "ls"]}}) as ohm:
        second = await continued(ohm, first)

    assert [sorted(one.tool_names) for one in server.requests] == [["grep", "read"], ["read"]]
    (line,) = told(second)
    assert "without 'ls', which it would have now" in line
    assert "Stricter now, and in force: without 'grep', which it had then" in line


@pytest.mark.slow
async def test_rules_for_calls_of_then_and_of_now_hold_together(opened):
    async with opened(model="acme/big", task={"tools": {"deny": ["bash: git push *"]}}) as ohm:
        first = (await ohm.run("task", "look")).unwrap()
    async with opened(model="acme/big", task={"tools": {"deny": ["bash: rm *"]}}) as ohm:
        second = await continued(ohm, first)
        launch = ohm.task(second.task_id).launch

    denied = {pattern for rules in launch.call_rules for pattern in rules.deny}
    assert {"git push *", "rm *"} <= denied
    assert "rules for calls of 'bash'" in told(second)[0]


async def test_a_lower_limit_and_a_lower_budget_of_now_hold(opened):
    async with opened(model="acme/big", finder={"limits": {"capMs": 60_000}}) as ohm:
        first = await begun(ohm)
    now = {"limits": {"capMs": 30_000}, "budget": {"requests": 7}}
    async with opened(model="acme/big", finder=now) as ohm:
        second = await continued(ohm, first)
        launch = ohm.task(second.task_id).launch

    assert (launch.limits.cap_ms, launch.budget.requests) == (30_000, 7)
    assert told(second) == [
        "Stricter now, and in force: limits.capMs 30000 (was 60000); budget.requests 7 (was no limit)."
    ]


async def test_what_the_call_itself_says_counts(opened):
    async with opened(model="acme/big") as ohm:
        await begun(ohm, session="s-1")
        limits = Limits(cap_ms=90_000)
        second = (await ohm.run("finder", "again", session="s-1", limits=limits, strict_model=True)).unwrap()
        launch = ohm.task(second.task_id).launch

    assert (launch.limits.cap_ms, launch.strict_model, told(second)) == (90_000, True, [])


async def test_the_directory_stays_as_long_as_it_is_there(opened, tmp_path):
    then, now = tmp_path / "then", tmp_path / "now"
    then.mkdir()
    now.mkdir()
    async with opened(then, model="acme/big") as ohm:
        first = await begun(ohm)
    async with opened(now, model="acme/big") as ohm:
        second = await continued(ohm, first)
        assert ohm.task(second.task_id).launch.cwd == str(then)
        then.rmdir()
        third = await continued(ohm, second)
        assert ohm.task(third.task_id).launch.cwd == str(now)

    assert f"cwd {then} (now {now})" in told(second)[0]
    assert told(third) == [f"Changed since then: cwd {now} (was {then}, which is gone)."]


async def test_a_directory_that_the_call_had_named_is_never_replaced(opened, tmp_path):
    asked = tmp_path / "asked"
    asked.mkdir()
    async with opened(model="acme/big") as ohm:
        first = await begun(ohm, cwd=asked)
        asked.rmdir()
        result = await ohm.handle(first.task_id).send("go on")

    assert isinstance(result, Err)
    assert result.err_value.code == ErrorCode.CWD_UNREADABLE


async def test_where_nothing_had_named_a_model_the_one_that_answered_stays(opened, tmp_path):
    asked = []

    async def act(request, sink):
        asked.append(str(request.model))
        sink.emit(RouteResolved(provider="acme", model="own-choice"))
        return "Done."

    backend = ActingBackend(act)
    async with opened(plugins=[backend]) as ohm:
        first = await begun(ohm, backend="acting")
    async with opened(plugins=[backend], model="acme/small") as ohm:
        second = await continued(ohm, first)

    assert asked == ["None", "acme/own-choice"]
    assert "model acme/own-choice (now acme/small)" in told(second)[0]
    assert (first.backend, second.backend) == ("acting", "acting")


async def test_a_backend_that_is_gone_is_replaced_and_told(opened):
    async def act(_request, _sink):
        return "Done."

    async with opened(plugins=[ActingBackend(act)], model="acme/big") as ohm:
        first = await begun(ohm, backend="acting")
    async with opened(model="acme/big") as ohm:
        second = await continued(ohm, first)

    assert second.backend == "interactive-sdk"
    (line,) = told(second)
    assert "backend interactive-sdk, from the prompts and answers alone (was acting, which is gone)" in line


async def test_instructions_that_have_changed_are_told(opened):
    mine = Profile(id="mine", name="Mine", summary="s", prompt="Do as I say.")
    async with opened(model="acme/big") as ohm:
        await ohm.run(mine, "look", session="s-1")
        changed = replace(mine, prompt="Do as I do.")
        second = (await ohm.run(changed, "again", session="s-1")).unwrap()

    assert told(second) == ["Changed since then: the instructions of 'mine'."]


async def test_a_task_of_an_earlier_version_goes_on_with_the_settings_of_now(opened, tmp_path):
    async with opened(model="acme/big", store="snapshot") as ohm:
        first = await begun(ohm)
    (file,) = tmp_path.rglob("ohm.subagents.tasks.json")
    kept = json.loads(file.read_text())
    del kept["launches"]
    file.write_text(json.dumps(kept))
    async with opened(model="acme/small", store="snapshot") as ohm:
        second = await continued(ohm, first)

    assert (second.model, told(second)) == ("small", [])


async def test_the_version_of_a_program_is_kept_with_the_launch_and_another_one_is_told(opened):
    said = ["1.0.0", "1.0.0", "1.1.0"]

    async def act(_request, sink):
        sink.emit(RouteResolved(runtime="agent-cli", program="agent", program_version=said.pop(0)))
        return "Done."

    async with opened(plugins=[ActingBackend(act)], finder={"backend": "acting"}) as ohm:
        first = await begun(ohm)
        assert ohm.task(first.task_id).launch.programs == {"agent": "1.0.0"}
        same = await continued(ohm, first)
        changed = await continued(ohm, same)
        launch = ohm.task(changed.task_id).launch
    assert same.launch_digest == first.launch_digest != changed.launch_digest
    assert (same.diagnostics, changed.diagnostics) == (None, ["agent 1.1.0 goes on with it (was 1.0.0)."])
    assert launch.programs == {"agent": "1.1.0"}
    assert any(line.endswith("agent 1.1.0") for line in launch_lines(launch))
