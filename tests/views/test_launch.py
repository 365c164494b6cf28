"""A launch record as `ohm task` shows it: every rule with its tool, and what bounds the task besides."""

from ohm_subagents._views.launch import launch_lines
from ohm_subagents.contract import CallRules, LaunchRecord, ModelPattern, ToolCeiling

RULES = (
    CallRules(tool="bash", allow=("git *",), ask=("git push *",), deny=("git gc",)),
    CallRules(tool="read", allow=("src/**",)),
    CallRules(tool="edit", ask=("*",)),
)


def lines(**fields):
    return launch_lines(LaunchRecord(profile="worker", instructions="0" * 64, backend="echo", **fields))


def test_each_rule_names_its_tool_and_what_it_allows_asks_about_and_denies():
    assert (
        "rules bash: only git *, asks about git push *, not git gc; read: only src/**; edit: asks about every call"
        in lines(call_rules=RULES)
    )


def test_the_models_that_may_do_the_work_and_the_ceiling_are_shown():
    ceiling = ToolCeiling(names=("read", "bash"), denied=("mcp__*",), call_rules=RULES[:1], holder="lead")
    shown = lines(fallback=tuple(ModelPattern(provider="acme", model=name) for name in ("m1", "m2")), ceiling=ceiling)
    assert "fallback acme/m1, then acme/m2" in shown
    assert (
        "ceiling that of 'lead': read, bash, not mcp__*; bash: only git *, asks about git push *, not git gc" in shown
    )
    assert [line for line in lines() if line.startswith(("rules", "ceiling", "fallback"))] == []
