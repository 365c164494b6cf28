"""A subagent has at most the tools and rules of the one that starts it, at any depth and through every door."""

import json
import logging

import pytest
from acting import ALL, ActingBackend
from nested_tasks import Place

from ohm_subagents.config import judge_call
from ohm_subagents.contract.diagnostics import TOOLLESS
from ohm_subagents.contract.tool_ceiling import delegation_from_json
from ohm_subagents.plugin import Capability, Tool, ToolCall, ToolResult, ToolSuiteSpec, hookimpl
from ohm_subagents.shell import child_environment

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.profile("reader", "tools: [read, grep]")
    place.profile("worker", "tools: [read, bash, edit]")
    place.profile("careful", "tools: {allow: [read, bash, edit], ask: ['bash: git push *'], deny: ['bash: rm *']}")
    place.profile("open")
    place.profile("lead", "tools: [read]\ndelegate: [Worker]")
    return place


async def test_a_child_has_no_tool_that_its_parent_has_not(place):
    requests = await place.run("reader", "worker")
    assert requests["worker"].tools == ("read",)
    assert requests["worker"].tools_are_bounded
    assert place.told("worker") == [
        "'bash', 'edit' are not given: a subagent has at most the tools of the one that starts it, and 'reader' lacks "
        "them. To give 'worker' what its own configuration gives it, name it in 'delegate' of 'reader'."
    ]


async def test_a_child_without_a_list_gets_that_of_its_parent(place):
    requests = await place.run("reader", "open")
    assert requests["open"].tools == ("read", "grep")
    assert requests["open"].tools_are_bounded


async def test_a_parent_that_nothing_bounds_bounds_no_child(place):
    requests = await place.run("open", "worker")
    assert requests["worker"].tools == ("read", "bash", "edit")
    assert place.told("worker") == []


async def test_it_holds_at_any_depth(place):
    requests = await place.run("reader", "open/worker/open")
    assert [requests[name].tools for name in ("worker", "open")] == [("read",), ("read",)]


async def test_a_start_that_loses_every_tool_says_so(place):
    place.profile("writer", "tools: [write]")
    requests = await place.run("reader", "writer")
    assert requests["writer"].tools == ()
    (told,) = place.diagnostics("writer")
    assert told.subject == TOOLLESS
    assert "works without any tool" in told.message
    assert "'delegate' of 'reader'" in told.advice


async def test_the_rules_of_the_parent_hold_for_its_children(place):
    await place.run("careful", "worker/open")
    for name in ("careful", "worker", "open"):
        verdicts = [place.judged(name, line) for line in ("git diff", "env git push", "true; rm x")]
        assert verdicts == ["allow", "ask", "deny"], name


async def test_paths_of_the_rules_begin_at_the_directory_of_the_parent(place, tmp_path):
    place.profile("narrow", "tools: [read, 'edit: src/**']")
    other = tmp_path / "other"
    other.mkdir()
    place.options = {"cwd": other}
    requests = await place.run("narrow", "worker")

    def verdict(path):
        return judge_call(requests["worker"].call_rules, "edit", {"path": path}, cwd=other).verdict

    assert requests["worker"].cwd == other
    assert [verdict("src/a"), verdict(str(place.cwd / "src" / "a"))] == ["deny", "allow"]


async def test_a_backend_that_cannot_keep_the_rules_of_the_parent_is_refused(place):
    without = ActingBackend(place.act, id="bare", capabilities=ALL - {Capability.CALL_RULES})
    place.profile("bare", "tools: [bash]\nbackend: bare")

    async def act(request, sink):
        error = (await place.ohm.run("bare", "stop")).unwrap_err()
        return error.message

    place.act = act
    async with place.open(plugins=[without]) as ohm:
        said = (await ohm.run("careful", "go")).unwrap().output
    assert "cannot keep the rules of profile 'bare' for commands of 'bash'" in said


async def test_a_grant_gives_a_named_child_what_its_own_configuration_gives(place, caplog):
    with caplog.at_level(logging.INFO):
        requests = await place.run("lead", "worker")
    assert requests["worker"].tools == ("read", "bash", "edit")
    (told,) = place.diagnostics("worker")
    assert (told.subject, told.severity) == ("delegate", "info")
    assert "'lead', which started this task, names it in 'delegate'" in told.message


async def test_a_grant_is_for_those_that_are_named_and_not_for_their_children(place):
    place.profile("other", "tools: [bash]")
    requests = await place.run("lead", "other")
    assert requests["other"].tools == ()
    requests = await place.run("lead", "worker/open")
    assert requests["open"].tools == ("read", "bash", "edit")


async def test_a_grant_does_not_lift_the_ceiling_above(place):
    requests = await place.run("reader", "lead/worker")
    assert requests["worker"].tools == ("read",)


async def test_the_users_file_grants_and_withdraws(place):
    requests = await place.run("reader", "worker", config={"reader": {"delegate": ["worker"]}})
    assert requests["worker"].tools == ("read", "bash", "edit")
    requests = await place.run("lead", "worker", config={"lead": {"delegate": []}})
    assert requests["worker"].tools == ("read",)


async def test_a_project_grants_nothing(place):
    project = place.cwd / ".pi"
    (project / "subagents").mkdir(parents=True)
    (project / "ohm.json").write_text(json.dumps({"subagents": {"reader": {"delegate": ["worker"]}}}))
    (project / "subagents" / "reader.md").write_text("---\nsummary: S\ntools: [read]\ndelegate: [worker]\n---\nP.")
    requests = await place.run("reader", "worker")
    assert requests["worker"].tools == ("read",)


async def test_a_program_that_starts_below_a_task_is_under_its_ceiling(place):
    inner = place.act

    async def act(request, sink):
        if request.profile.id == "reader":
            handle = await place.ohm.start("worker", "stop", parent=request.task_id)
            await handle.wait()
            return "done"
        return await inner(request, sink)

    place.act = act
    assert (await place.run("reader"))["worker"].tools == ("read",)


async def test_a_child_tool_of_a_plugin_starts_under_the_ceiling(place):
    class Starting:
        @hookimpl
        def ohm_tool_suites(self):
            async def go(call):
                place.envelopes["worker"] = (await place.ohm.run("worker", "stop")).unwrap()
                return ToolResult(text="done")

            def build(_context):
                return (
                    Tool(name="go", label="Go", description="x", input_schema={}, execute=go, call_view=lambda *_: ""),
                )

            yield ToolSuiteSpec(name="starting", summary="S", build=build, audience="child")

    async def act(request, _sink):
        place.requests[request.profile.id] = request
        for tool in request.child_tools:
            await tool.execute(ToolCall(arguments={}))
        return "done"

    place.profile("starter", "tools: [read, go]")
    place.act = act
    assert (await place.run("starter", plugins=[Starting()]))["worker"].tools == ("read",)


async def test_functions_that_a_program_gives_with_a_call_are_kept(place):
    async def look(text: str) -> str:
        """Look."""
        return text

    place.options = {"tools": [look]}
    requests = await place.run("reader", "worker")
    assert requests["worker"].tools == ("read", "look")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the clock of trio jumps while a thread works
@pytest.mark.parametrize("store", ["memory", "sqlite", "snapshot"])
async def test_a_session_that_is_resumed_keeps_its_ceiling(place, store):
    env = {"OHM_SUBAGENTS_STORE": store}
    async with place.open(env=env) as ohm:
        (await ohm.run("reader", "careful")).unwrap()
        child = place.envelopes["careful"].task_id
        if store == "memory":
            await again(place, ohm, child)
    if store != "memory":
        async with place.open(env=env) as ohm:
            await again(place, ohm, child)


async def again(place, ohm, child):
    place.requests.clear()
    answer = (await ohm.handle(child).send("stop")).unwrap()
    assert answer.status == "succeeded"
    assert place.requests["careful"].tools == ("read",)
    assert answer.task_id != child
    place.requests.clear()
    (await ohm.run("careful", "stop", session=answer.session_id)).unwrap()
    assert place.requests["careful"].tools == ("read",)


async def test_a_follow_up_to_another_task_does_no_more_than_the_one_that_sends_it(place):
    inner = place.act

    async def act(request, sink):
        if request.profile.id == "reader":
            (await place.ohm.handle(place.envelopes["worker"].task_id).send("stop")).unwrap()
            return "done"
        return await inner(request, sink)

    place.act = act
    async with place.open() as ohm:
        place.envelopes["worker"] = (await ohm.run("worker", "stop")).unwrap()
        assert place.requests["worker"].tools == ("read", "bash", "edit")
        await ohm.run("reader", "go")
    assert place.requests["worker"].tools == ("read",)


async def test_a_process_inside_of_a_run_is_under_its_ceiling(place):
    requests = await place.run("careful")
    env = child_environment(requests["careful"])
    assert delegation_from_json(env["OHM_SUBAGENT_CEILING"]).own.holder == "careful"
    nested = {"OHM_SUBAGENT_CEILING": env["OHM_SUBAGENT_CEILING"]}
    requests = await place.run("open", "open", env=nested)
    assert requests["open"].tools == ("read", "bash", "edit")
    assert place.judged("open", "git push") == "ask"
    requests = await place.run("open")
    assert "OHM_SUBAGENT_CEILING" not in child_environment(requests["open"])


async def test_a_ceiling_of_the_environment_that_cannot_be_read_allows_no_tool(place):
    async with place.open(env={"OHM_SUBAGENT_CEILING": "{"}) as ohm:
        (await ohm.run("open", "stop")).unwrap()
        assert any("'OHM_SUBAGENT_CEILING' cannot be read" in one.message for one in ohm.diagnostics)
    assert place.requests["open"].tools == ()
