from __future__ import annotations

import pytest
from acting import ActingBackend

from ohm_subagents import Ohm
from ohm_subagents._config.approved_calls import ApprovedCall, ApprovedCalls, digest_of
from ohm_subagents.cli.policy import print_verdict
from ohm_subagents.plugin import Decision, hookimpl
from ohm_subagents.testing import HERMETIC

INTERNAL = "---\nname: Ghost\ndescription: Helps within.\ninternal: true\n---\nHelp.\n"


def permissions(rules: str) -> str:
    return f'{{\n  "suites": ["task"],\n  "subagents": {{\n    "permissions": {rules}\n  }}\n}}'


def test_the_file_and_the_line_that_decide_are_named(ohm) -> None:
    path = ohm.configure(permissions('{\n      "subagents": {\n        "finder": "deny"\n      }\n    }'))
    done = ohm("policy", "explain", "finder")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "Subagent: finder",
        "verdict: deny",
        f"decided by: {path}:6",
        "because: subagents.permissions.subagents.finder is 'deny'",
        "internal: no",
    ]


def test_a_default_and_a_missing_rule_decide_too(ohm) -> None:
    done = ohm("policy", "explain", " Finder ")
    assert (done.returncode, done.stdout.splitlines()[1:4]) == (
        0,
        ["verdict: allow", "decided by: default", "because: no rule says otherwise"],
    )
    path = ohm.configure(permissions('{"default": "deny", "subagents": {"oracle": "allow"}}'))
    assert f"decided by: {path}:4\nbecause: subagents.permissions.default is 'deny'" in (
        ohm("policy", "explain", "finder").stdout
    )
    allowed = ohm("policy", "explain", "oracle")
    assert (allowed.returncode, f"decided by: {path}:4" in allowed.stdout) == (0, True)


def test_a_rule_that_cannot_be_followed_is_told_as_the_deny_that_it_is(ohm) -> None:
    path = ohm.configure(permissions('{"subagents": {"finder": "alow"}}'))
    done = ohm("policy", "explain", "finder")
    assert done.returncode == 1
    assert "because: subagents.permissions.subagents.finder cannot be followed as written" in done.stdout
    assert f"{path}:4:35: 'subagents.permissions.subagents.finder' is 'alow'" in done.stderr


def test_an_internal_subagent_is_hidden_unless_routing_is_allowed(ohm, tmp_path) -> None:
    folder = tmp_path / "config" / "subagents"
    folder.mkdir()
    (folder / "ghost.md").write_text(INTERNAL, encoding="utf-8")
    ohm.configure(permissions('{"subagents": {"ghost": "allow"}}'))
    hidden = ohm("policy", "explain", "ghost")
    assert (hidden.returncode, hidden.stdout.splitlines()[1:]) == (
        1,
        [
            "verdict: deny",
            "decided by: default",
            "because: it is internal, and subagents.permissions.allowInternalRouting is false",
            "internal: yes, hidden (default)",
        ],
    )
    path = ohm.configure(permissions('{"allowInternalRouting": true}'))
    shown = ohm("policy", "explain", "ghost")
    assert (shown.returncode, f"internal: yes, routing is allowed ({path}:4)" in shown.stdout) == (0, True)


def test_what_else_stops_a_subagent_is_told_beside_the_verdict(ohm) -> None:
    path = ohm.configure('{\n  "features": {"painterImagegen": false}\n}')
    done = ohm("policy", "explain", "painter")
    assert (done.returncode, f"off: features.painterImagegen is false ({path}:2)" in done.stdout) == (0, True)


def test_an_unknown_subagent_is_bad_usage_with_those_there_are(ohm) -> None:
    done = ohm("policy", "explain", "nobody")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "No subagent is called 'nobody'. Available: finder, librarian, oracle, painter, task.\n"


def test_a_task_that_is_not_kept_is_told_as_a_task(ohm) -> None:
    done = ohm("policy", "explain", "task_123")
    assert done.returncode == 2
    assert done.stderr.startswith("Unknown task id 'task_123'. `ohm tasks` lists those that are kept: ")


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        ({"aks": ["edit"]}, "'subagents.task.tools' has the unknown key 'aks'"),
        ({"deny": ["bash: @netwrk"]}, "'bash: @netwrk' is no rule"),
        ({"deny": ["bsah"]}, "denies or asks about 'bsah', which is no tool of a subagent"),
        ({"ask": ["edti"]}, "Did you mean 'edit'?"),
    ],
)
def test_a_subagent_whose_tools_cannot_be_understood_is_denied(ohm, tools: dict, why: str) -> None:
    ohm.configure({"subagents": {"task": {"tools": tools}}})
    done = ohm("policy", "explain", "task")
    assert (done.returncode, done.stdout.splitlines()[1]) == (1, "verdict: deny")
    assert why in done.stdout


def test_the_tool_for_questions_is_known_where_a_list_names_it_and_where_none_does(ohm) -> None:
    ohm.configure({"subagents": {"task": {"tools": ["read", "ask_parent"]}, "finder": {"tools": {"ask": ["edit"]}}}})
    asked = ohm("policy", "explain", "task", "--tool", "ask_parent")
    assert (asked.returncode, "call of ask_parent: allow" in asked.stdout) == (0, True)
    denied = ohm("policy", "explain", "finder", "--tool", "ask_parent")
    assert (denied.returncode, "call of ask_parent: deny" in denied.stdout) == (1, True)
    assert "ask_parent" not in "".join(ohm("doctor").stdout.partition("Diagnostics:")[1:])
    assert "tools: read, ask_parent\n" in ohm("subagent", "task").stdout


class Curfew:
    """A policy plugin that wants to know which tools it is about."""

    @hookimpl
    def ohm_permission(self, request):
        verdict = "deny" if "bash" in request.tools else "allow"
        return Decision(verdict=verdict, source="plugin curfew", reason="no shell at night")


@pytest.mark.anyio
@pytest.mark.parametrize(("profile", "code"), [("task", 1), ("finder", 0)])
async def test_a_plugin_that_decides_is_named(profile, code, capsys) -> None:
    config = {"subagents": {"permissions": {"default": "allow"}}}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[Curfew()]) as ohm:
        assert print_verdict(profile, ohm, ohm.inspect().loaded.ok_value) == code
    printed = capsys.readouterr().out
    assert f"decided by: {'plugin curfew' if code else 'config'}\n" in printed
    assert f"plugin: {'deny' if code else 'allow'} from plugin curfew (no shell at night)\n" in printed


def test_a_tool_that_nothing_offers_is_no_verdict_but_a_mistake(ohm) -> None:
    done = ohm("policy", "explain", "task", "--tool", "bahs", "--args", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("There is no tool 'bahs'. Did you mean 'bash'? Available: read, bash, ")


def test_arguments_without_a_tool_are_refused(ohm) -> None:
    done = ohm("policy", "explain", "task", "--args", "git push")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "--args is 'git push', and no tool is named. Add --tool bash, whose command it is.\n"


def test_each_step_to_the_verdict_on_a_call_is_shown(ohm) -> None:
    rules = '"ask": ["bash: git push *"], "deny": ["edit: docs"]'
    config = f'{{\n  "subagents": {{\n    "task": {{"tools": {{\n      {rules}}}}}\n  }}\n}}'
    path = ohm.configure(config)
    done = ohm("policy", "explain", "task", "--tool", "bash", "--args", "true; git push")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "call of bash on 'true; git push': ask" in lines
    assert lines[lines.index("steps:") + 1] == "- profile: allow (builtin/task.md): its list of tools"
    assert lines[-1] == f"- rules: ask ({path}:3): it may run 'git push *'"
    edited = ohm("policy", "explain", "task", "--tool", "edit", "--args", "docs/a.md").stdout
    assert f"- rules: deny ({path}:3): it uses 'docs'" in edited
    assert (
        "call of edit on 'a.md': allow" in ohm("policy", "explain", "task", "--tool", "edit", "--args", "a.md").stdout
    )


@pytest.mark.anyio
async def test_a_call_of_a_task_is_explained_by_the_tasks_above_it(tmp_path, capsys) -> None:
    async def act(request, _sink):
        if request.profile.id == "lead":
            inner.append((await ohm.run("task", "Go.")).unwrap().task_id)
        return "done"

    inner: list[str] = []
    folder = tmp_path / "subagents"
    folder.mkdir()
    (folder / "lead.md").write_text("---\nsummary: S\ntools: {allow: [read, bash], deny: ['bash: rm *']}\n---\nP.")
    env = HERMETIC | {"PI_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path)}
    config = {"subagentBackend": "acting", "subagents": {"budget": {"depth": 2}}}
    async with Ohm.open(cwd=tmp_path, env=env, config=config, plugins=[ActingBackend(act)]) as ohm:
        root = (await ohm.run("lead", "Go.")).unwrap().task_id
        loaded = ohm.inspect().loaded.unwrap()
        assert print_verdict(inner[0], ohm, loaded, tool="bash", command="rm x") == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[:4] == [
            f"Task: {inner[0]}",
            "Subagent: task",
            "allowed by: default",
            "ceiling: the tools of 'lead', which started it",
        ]
        assert "call of bash on 'rm x': deny" in lines
        assert f"- ceiling of 'lead': deny ({root}): it may run 'rm *'" in lines
        assert print_verdict(inner[0], ohm, loaded, tool="edit", command="x") == 1
        assert "call of edit on 'x': deny" in capsys.readouterr().out
        assert print_verdict(inner[0], ohm, loaded) == 0
        assert "tools: read, bash" in capsys.readouterr().out


def test_an_approval_for_always_is_the_last_step(ohm, tmp_path) -> None:
    ohm.configure('{"subagents": {"task": {"tools": {"ask": ["bash: git push *"]}}}}')
    asked = ohm("policy", "explain", "task", "--tool", "bash", "--args", "git push")
    project, approved = ohm.root / "project", ApprovedCalls(tmp_path / "config")
    digest = digest_of("bash", {"command": "git push"}, project)
    approved.add(ApprovedCall(digest=digest, tool="bash", arguments="{}", approved_ms=1))
    done = ohm("policy", "explain", "task", "--tool", "bash", "--args", "git push")
    assert (asked.returncode, done.returncode) == (1, 0)
    assert f"- approved for always: allow ({approved.file(digest)}): remove the file" in done.stdout
