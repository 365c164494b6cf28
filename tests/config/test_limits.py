"""Clocks, loop rules, budgets and requests in flight: what ohm.json may say, and what a project may only lower."""

from decimal import Decimal

import pytest

from ohm_subagents._config.schema import OhmConfig
from ohm_subagents.contract.limits import Budget, Limits, LoopPolicy


def common(section: str) -> str:
    return f'{{"subagents": {{\n{section}}}}}'


def own(section: str) -> str:
    return f'{{"subagents": {{"finder": {{\n{section}}}}}}}'


def test_what_holds_when_nothing_is_said():
    config = OhmConfig()
    assert config.limit_sources[0].limits == Limits(idle_ms=180_000, tool_ms=600_000, soft_ms=180_000, cap_ms=3_600_000)
    assert config.subagents.tree_budget() == Budget(spawns=32, depth=1)
    finder = config.subagents.entry("finder")
    assert config.subagents.loop.policy(finder.loop) == LoopPolicy(identical_calls=5, alternations=4, same_results=10)
    assert finder.sources[0].budget == Budget()
    assert config.subagents.max_requests == {}


def test_everything_can_be_said_for_all_and_for_one(home):
    home.write(
        user="""{"backendTimeoutMs": 7, "subagents": {
            "limits": {"idleMs": 1, "toolMs": 2, "extendMs": 3, "capMs": 4},
            "loop": {"identicalCalls": 0, "alternations": 6, "sameResults": 7, "polling": ["status"]},
            "budget": {"requests": 8, "tokens": 9, "costUsd": 0.1, "toolCalls": 10, "spawns": 0, "depth": 0,
                       "wallMs": 11},
            "maxRequests": {" OpenAI ": 12},
            "Finder": {
                "limits": {"idleMs": 13, "softMs": 14, "capMs": 15},
                "loop": {"alternations": 0, "polling": ["status", "wait"]},
                "budget": {"costUsd": "0.30000000000000004", "depth": 0}}}}"""
    )
    loaded = home.load()
    assert loaded.diagnostics == ()
    config, finder = loaded.config, loaded.config.subagents.entry("finder")
    assert config.limit_sources[0].limits == Limits(idle_ms=1, tool_ms=2, soft_ms=7, extend_ms=3, cap_ms=4)
    assert config.subagents.tree_budget() == Budget(
        requests=8, tokens=9, cost_usd=Decimal("0.1"), tool_calls=10, spawns=0, depth=0, wall_ms=11
    )
    assert config.subagents.max_requests == {"openai": 12}
    said, at_most = finder.sources
    assert said.limits == Limits(idle_ms=13, soft_ms=14, cap_ms=15)
    assert said.budget == Budget(cost_usd=Decimal("0.30000000000000004"), depth=0)
    assert config.subagents.loop.policy(finder.loop) == LoopPolicy(
        identical_calls=0, alternations=0, same_results=7, polling=("status", "wait")
    )
    assert (at_most.limits, at_most.budget, finder.unclear) == (Limits(), Budget(), "")


@pytest.mark.parametrize(("key", "left"), [("spawns", Budget(depth=1)), ("depth", Budget(spawns=32))])
def test_null_takes_the_guard_of_nesting_away(home, key, left):
    home.write(user=common(f'"budget": {{"{key}": null}}'))
    assert home.load().config.subagents.tree_budget() == left


WRONG = [
    ('"limits": {"capMs": 0}', "limits.capMs' is 0, but has to be a positive integer; it is ignored."),
    ('"limits": {"capMs": null}', "limits.capMs' is null, but has to be a positive integer; it is ignored."),
    ('"limits": {"capS": 1}', "limits.capS' is not a known key, and is ignored. Did you mean 'capMs'?"),
    ('"limits": 5', "limits' is 5, but has to be an object; it is ignored."),
    ('"loop": {"alternations": -1}', "loop.alternations' is -1, but has to be an integer, 0 or more; it is ignored."),
    ('"loop": {"polling": "wait"}', "loop.polling' is 'wait', but has to be a list; it is ignored."),
    ('"maxRequests": {"openai": 0}', "maxRequests.openai' is 0, but has to be a positive integer; it is ignored."),
    ('"Limits": {"capMs": 5}', "Limits' is a reserved key and cannot be a subagent; it is ignored. The setting is "),
    ('"limit": {"capMs": 5}', "limit' is not known, and is ignored. Did you mean 'subagents.limits'? "),
    ('"maxRequest": {"a": 5}', "maxRequest' is not known, and is ignored. Did you mean 'subagents.maxRequests'? "),
]


@pytest.mark.parametrize(("section", "sentence"), WRONG)
def test_a_wrong_limit_is_named_and_the_default_stays(home, section, sentence):
    home.write(user=common(section))
    loaded = home.load()
    (told,) = home.told(loaded)
    assert told.startswith(f"~/ohm.json:2: 'subagents.{sentence}")
    assert loaded.config == OhmConfig()


UNCLEAR = [
    ('"budget": {"requests": 0}', "budget.requests' is 0, but has to be a positive integer; it "),
    ('"budget": {"requests": "9"}', "budget.requests' is '9', but has to be a positive integer; it "),
    ('"budget": {"depth": -1}', "budget.depth' is -1, but has to be an integer, 0 or more; it "),
    ('"budget": {"spawns": 1.5}', "budget.spawns' is 1.5, but has to be an integer, 0 or more; it "),
    ('"budget": {"costUsd": 0}', "budget.costUsd' is 0, but has to be a number or a decimal text above 0; it "),
    ('"budget": {"costUsd": "1e3"}', "budget.costUsd' is '1e3', but has to be a number or a decimal text above 0; it "),
    ('"budget": {"costUsd": "NaN"}', "budget.costUsd' is 'NaN', but has to be a number or a decimal text above 0; it "),
    ('"budget": {"costUsd": true}', "budget.costUsd' is true, but has to be a number or a decimal text above 0; it "),
    ('"budget": {"request": 9}', "budget.request' is not a known key, and "),
    ('"budget": {"requests": 5, "requests": 9}', "budget.requests' is given twice, and "),
    ('"budget": 5', "budget' is 5, but has to be an object; it "),
    ('"budget": null', "budget' is null, but has to be an object; it "),
]


@pytest.mark.parametrize(("section", "sentence"), UNCLEAR)
@pytest.mark.parametrize("which", ["user", "project"])
def test_a_budget_that_cannot_be_understood_stops_what_it_is_about(home, which, section, sentence):
    home.write(**{which: common(section)})
    told = next(one for one in home.load().diagnostics if one.severity == "error")
    assert told.line == 2
    assert f"'subagents.{sentence}keeps every subagent from running until it is corrected." in str(told)
    entries = home.load().config.subagents
    assert entries.entry("finder").unclear == entries.entry("oracle").unclear == str(told)

    home.write(**{which: own(section)})
    told = next(one for one in home.load().diagnostics if one.severity == "error")
    assert f"'subagents.finder.{sentence}keeps the subagent from running until it is corrected." in str(told)
    entries = home.load().config.subagents
    assert (entries.entry("Finder").unclear, entries.entry("oracle").unclear) == (str(told), "")


@pytest.mark.parametrize(
    ("text", "key", "meant", "every"),
    [
        ('{"budget": {"requests": 5}}', "budget", "subagents.budget", True),
        ('{"subagents": {"Budget": {"requests": 5}}}', "subagents.Budget", "subagents.budget", True),
        ('{"subagents": {"budgets": {}}}', "subagents.budgets", "subagents.budget", True),
        ('{"subagents": {"finder": {"budgt": {"requests": 5}}}}', "subagents.finder.budgt", "budget", False),
        (
            '{"subagents": {"profiles": {"finder": {"Budget": 5}}}}',
            "subagents.profiles.finder.Budget",
            "budget",
            False,
        ),
    ],
)
def test_a_budget_under_a_misspelt_key_is_not_lost(home, text, key, meant, every):
    home.write(user=text)
    loaded = home.load()
    who = "every" if every else "the"
    assert home.told(loaded) == [
        f"~/ohm.json:1: '{key}' is not a known key, and keeps {who} subagent from running until it is corrected. "
        f"Did you mean '{meant}'?"
    ]
    assert loaded.config.subagents.entry("finder").unclear
    assert bool(loaded.config.subagents.entry("oracle").unclear) is every


def test_a_subagent_may_be_called_nearly_like_the_budget(home):
    home.write(user='{"subagents": {"budgeter": {"model": "a/b"}}}')
    loaded = home.load()
    assert loaded.diagnostics == ()
    assert str(loaded.config.subagents.entry("budgeter").model) == "a/b"


def in_force(config: OhmConfig):
    subagents = config.subagents
    finder = subagents.entry("finder")
    loop = subagents.loop.policy(finder.loop)
    return config.limit_sources, subagents.tree_budget(), subagents.max_requests, finder.sources, loop


VOID = [
    ("", '"limits": {"capMs": 3600001}', "3600001", "3600000 (default)"),
    ('"limits": {"capMs": 50}', '"limits": {"capMs": 51}', "51", "50 (~/ohm.json:2)"),
    ("", '"limits": {"idleMs": 999999}', "999999", "180000 (default)"),
    ("", '"limits": {"extendMs": 180001}', "180001", "180000 (default)"),
    ('"limits": {"idleMs": 9}', '"limits": {"extendMs": 10}', "10", "9 (default)"),
    ('"limits": {"extendMs": 9}', '"limits": {"extendMs": null}', "null", "9 (~/ohm.json:2)"),
    ("", '"budget": {"depth": 2}', "2", "1 (default)"),
    ("", '"budget": {"spawns": null}', "null", "32 (default)"),
    ('"budget": {"costUsd": "0.1"}', '"budget": {"costUsd": "0.10000000000000001"}', "'0.10000000000000001'", "'0.1' "),
    ('"budget": {"requests": 5}', '"budget": {"requests": null}', "null", "5 (~/ohm.json:2)"),
    ('"maxRequests": {"openai": 2}', '"maxRequests": {"OpenAI": 3}', "3", "2 (~/ohm.json:2)"),
    ("", '"loop": {"sameResults": 11}', "11", "10 (default), and not 0"),
    ("", '"loop": {"sameResults": 0}', "0", "10 (default), and not 0"),
    (
        '"finder": {"loop": {"alternations": 2}}',
        '"finder": {"loop": {"alternations": 3}}',
        "3",
        "2 (~/ohm.json:2), and",
    ),
    ("", '"finder": {"loop": {"alternations": 5}}', "5", "4 (default), and not 0"),
    ('"finder": {"limits": {"capMs": 5}}', '"finder": {"limits": {"capMs": 6}}', "6", "5 (~/ohm.json:2)."),
    ('"finder": {"limits": {"capMs": 5}}', '"finder": {"limits": {"capMs": null}}', "null", "5 (~/ohm.json:2)."),
    ('"finder": {"budget": {"tokens": 5}}', '"finder": {"budget": {"tokens": 6}}', "6", "5 (~/ohm.json:2)."),
]


@pytest.mark.parametrize(("user", "project", "value", "highest"), VOID)
def test_a_project_raises_nothing_and_is_told_what_it_may_say(home, user, project, value, highest):
    home.write(user=common(user))
    before = in_force(home.load().config)
    home.write(project=common(project))
    (told,) = home.told(home.load())
    assert told.startswith(".pi/ohm.json:2: 'subagents.")
    assert f"' is {value}, which has no effect: a project's file may say at most {highest}" in told
    assert in_force(home.load().config) == before


def test_a_project_cannot_give_every_run_more_time(home):
    home.write(project='{"backendTimeoutMs": 180001}')
    assert home.load().config.backend_timeout_ms == 180_000
    assert len(home.load().diagnostics) == 1
    home.write(project='{"backendTimeoutMs": 5}')
    assert (home.load().config.backend_timeout_ms, home.load().diagnostics) == (5, ())


@pytest.mark.parametrize("where", ['"loop": {"polling": ["bash"]}', '"finder": {"loop": {"polling": ["bash"]}}'])
def test_a_project_exempts_no_tool(home, where):
    home.write(user=common('"loop": {"polling": ["wait"]}'), project=common(where))
    loaded = home.load()
    subagents = loaded.config.subagents
    assert subagents.loop.policy(subagents.entry("finder").loop).polling == ("wait",)
    (told,) = home.told(loaded)
    assert told.endswith("polling' cannot be set by a project, and is ignored; set it in the user's file.")


def test_a_project_lowers_everything(home):
    home.write(
        user=common('"loop": {"identicalCalls": 0}, "finder": {"limits": {"capMs": 50}}'),
        project=common(
            '"limits": {"capMs": 9, "idleMs": 8, "extendMs": 7}, "maxRequests": {"openai": 1}, '
            '"loop": {"identicalCalls": 3, "alternations": 1}, "budget": {"requests": 1, "depth": 0}, '
            '"finder": {"limits": {"capMs": 40, "toolMs": 30}, "budget": {"costUsd": 2}, "loop": {"sameResults": 4}}'
        ),
    )
    loaded = home.load()
    assert loaded.diagnostics == ()
    config, finder = loaded.config, loaded.config.subagents.entry("finder")
    said = Limits(idle_ms=8, tool_ms=600_000, soft_ms=180_000, cap_ms=9)
    assert tuple(one.limits for one in config.limit_sources) == (said, Limits(extend_ms=7))
    assert config.subagents.tree_budget() == Budget(requests=1, spawns=32, depth=0)
    assert config.subagents.max_requests == {"openai": 1}
    assert config.subagents.loop.policy(finder.loop) == LoopPolicy(identical_calls=3, alternations=1, same_results=4)
    users, at_most = finder.sources
    assert (users.limits, at_most.limits) == (Limits(cap_ms=40), Limits(tool_ms=30))
    assert (users.budget, at_most.budget) == (Budget(), Budget(cost_usd=Decimal(2)))
    assert loaded.origin("subagents.limits.capMs") == f"{home.cwd}/.pi/ohm.json:2"


def test_what_holds_can_be_written_down_again(home):
    home.write(user=common('"budget": {"costUsd": "0.10", "spawns": null}, "finder": {"budget": {"costUsd": 1e-7}}'))
    written = home.load().config.model_dump(mode="json", by_alias=True)["subagents"]
    assert (written["budget"]["costUsd"], written["budget"]["spawns"]) == ("0.10", None)
    assert written["profiles"]["finder"]["budget"]["costUsd"] == "0.0000001"
