from __future__ import annotations

import pytest

from ohm_subagents import Ohm
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
