"""Rights that leak to subagents, and rights that they lack, as users of other programs report them."""

import pytest
from nested_tasks import Place

from ohm_subagents.config import judge_call

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def verdict(place, name, tool, **arguments):
    request = place.requests[name]
    return judge_call(request.call_rules, tool, arguments, cwd=request.cwd).verdict if tool in request.tools else "none"


async def test_a_controller_that_may_do_nothing_itself_has_work_done_by_those_that_it_names(place):
    place.profile("controller", "tools: []\ndelegate: [executor]")
    place.profile("executor", "tools: [read, bash]")
    requests = await place.run("controller", "executor")
    assert requests["controller"].tools == ()
    assert requests["executor"].tools == ("read", "bash")


async def test_a_denial_of_the_parent_does_not_silently_overwrite_what_a_child_is_allowed(place):
    place.profile("commander", "tools: {deny: [edit]}")
    place.profile("writer", "tools: [read, edit]")
    requests = await place.run("commander", "writer")
    assert requests["writer"].tools == ("read",)
    assert "'edit' is not given" in place.told("writer")[0]
    assert "name it in 'delegate' of 'commander'" in place.told("writer")[0]
    config = {"commander": {"delegate": ["writer"]}}
    assert (await place.run("commander", "writer", config=config))["writer"].tools == ("read", "edit")


async def test_a_child_does_not_use_what_it_is_denied_because_its_parent_may(place):
    place.profile("builder", "tools: [read, edit, write, bash]")
    place.profile("tester", "tools: {deny: [edit, bash, write]}")
    requests = await place.run("builder", "tester")
    assert not {"edit", "bash", "write"} & set(requests["tester"].tools)


async def test_denials_of_patterns_of_whole_tools_and_of_wildcards_all_reach_the_child(place):
    place.profile("plan", "tools: {deny: [write, 'b*', 'edit: src/**']}")
    place.profile("free", "tools: [read, write, bash, edit]")
    requests = await place.run("plan", "free")
    assert requests["free"].tools == ("read", "edit")
    assert verdict(place, "free", "edit", path="src/a") == "deny"
    assert verdict(place, "free", "edit", path="docs/a") == "allow"


async def test_a_denial_of_the_parent_holds_for_a_child_that_is_started_reused_and_written_to(place):
    place.profile("parent", "tools: {allow: [read, bash], deny: ['bash: rm *']}")
    place.profile("child", "tools: [read, bash]")
    inner = place.act
    seen = []

    async def act(request, sink):
        if request.profile.id == "child":
            place.requests["child"] = request
            seen.append(verdict(place, "child", "bash", command="rm x"))
            return "done"
        if request.prompt == "reuse":
            (await place.ohm.run("child", "Again.", session=sessions[0])).unwrap()
            (await place.ohm.handle(tasks[0]).send("More.")).unwrap()
            return "done"
        return await inner(request, sink)

    place.act = act
    async with place.open() as ohm:
        first = (await ohm.run("child", "Free.")).unwrap()
        tasks, sessions = [first.task_id], [first.session_id]
        (await ohm.run("parent", "child")).unwrap()
        (await ohm.run("parent", "reuse")).unwrap()
    assert seen == ["allow", "deny", "deny", "deny"]


async def test_an_agent_that_may_not_write_cannot_ask_another_one_to(place):
    place.profile("special", "tools: [read, grep, find]")
    place.profile("scribe", "tools: [write, bash, read]")
    requests = await place.run("special", "scribe/scribe")
    assert requests["scribe"].tools == ("read",)


async def test_a_coordinator_needs_no_copy_of_the_rights_of_its_workers(place):
    place.profile("coordinator", "tools: [read]\ndelegate: [coder, checker]")
    place.profile("coder", "tools: [read, edit, 'bash: git diff *']")
    place.profile("checker", "tools: {allow: [read, bash], ask: ['bash: git push *']}")
    await place.run("coordinator", "coder")
    await place.run("coordinator", "checker")
    assert verdict(place, "coder", "edit", path="a") == "allow"
    assert verdict(place, "coder", "bash", command="git diff") == "allow"
    assert verdict(place, "coder", "bash", command="ls") == "deny"
    assert verdict(place, "checker", "bash", command="git push") == "ask"


async def test_a_question_of_the_parent_lifts_no_denial_of_the_child_and_is_asked_for_what_it_names_alone(place):
    place.profile("asking", "tools: {allow: [read, bash], ask: ['bash: npm *']}")
    place.profile("validator", "tools: ['bash: npm test *', 'bash: ls *']")
    await place.run("asking", "validator")
    lines = ("npm test", "ls -l", "npm publish", "curl x")
    assert [verdict(place, "validator", "bash", command=line) for line in lines] == ["ask", "allow", "deny", "deny"]


async def test_a_child_has_at_most_the_rights_of_its_parent_and_may_have_fewer(place):
    place.profile("parent", "tools: [read, grep, bash]")
    place.profile("fewer", "tools: [read]")
    place.profile("more", "tools: [read, bash, write]")
    requests = await place.run("parent", "fewer/more")
    assert [requests[name].tools for name in ("fewer", "more")] == [("read",), ("read",)]
    assert (await place.run("parent", "more"))["more"].tools == ("read", "bash")
