"""Call, then `subagents.<id>`, the profile, the settings for all, the defaults; a project only lowers."""

from decimal import Decimal

import pytest

from ohm_subagents._config.load import load_config
from ohm_subagents._policy.allowance import run_limits
from ohm_subagents._policy.sources import explain_limits, void_ceilings
from ohm_subagents._profiles.catalog import load_catalog
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.limits import Budget, Clocks, Limits, LoopPolicy
from ohm_subagents.contract.result import Err


def allowed(profile, config, **call):
    return run_limits(profile, config.subagents.entry(profile.id), config, **call)


class Place:
    """A user's directory and a project's."""

    def __init__(self, root):
        self.user, self.project = root / "user", root / "project" / ".pi"
        for folder in (self.user, self.project):
            (folder / "subagents").mkdir(parents=True)

    def write(self, *, user=None, project=None, users_profile=None, projects_profile=None):
        for folder, config, profile in (
            (self.user, user, users_profile),
            (self.project, project, projects_profile),
        ):
            if config:
                (folder / "ohm.json").write_text(config)
            if profile:
                (folder / "subagents" / "scout.md").write_text(f"---\nsummary: S\n{profile}\n---\nP")

    def load(self):
        cwd = self.project.parent
        loaded = load_config(cwd=cwd, config=None, env={"PI_CONFIG_DIR": str(self.user)}).ok_value
        return loaded, load_catalog(cwd=cwd, config_dir=self.user, plugin_profiles=()).find("scout")

    def allowed(self, **call):
        loaded, profile = self.load()
        found = allowed(profile, loaded.config, **call)
        assert not isinstance(found, Err), found
        return found.ok_value

    def sources(self):
        loaded, profile = self.load()
        return {one.key: (one.value, self.short(one.source)) for one in explain_limits(profile, loaded)}

    def void(self):
        loaded, profile = self.load()
        return [self.short(str(one)) for one in void_ceilings(loaded, [profile])]

    def short(self, text):
        return text.replace(f"{self.user}/", "~/").replace(f"{self.project}/", ".pi/")


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def scout(section):
    return f'{{"subagents": {{"scout": {{{section}}}}}}}'


def test_the_defaults_hold_for_who_says_nothing(place):
    place.write(users_profile="primary: false")
    allowed = place.allowed()
    assert (allowed.clocks, allowed.loop, allowed.budget) == (Clocks(), LoopPolicy(), Budget())


def test_each_clock_is_set_by_the_first_who_says_it(place):
    place.write(
        users_profile="limits: {idleMs: 30, toolMs: 30, softMs: 30}",
        user='{"backendTimeoutMs": 20, "subagents": {"limits": {"idleMs": 20, "toolMs": 20, "capMs": 20}, '
        '"scout": {"limits": {"idleMs": 40}}}}',
    )
    allowed = place.allowed(limits=Limits(tool_ms=50, extension="calls"))
    assert allowed.clocks == Clocks(idle_ms=40, tool_ms=50, soft_ms=30, extend_ms=30, cap_ms=20, extension="calls")
    assert place.allowed().clocks.tool_ms == 30


def test_a_call_may_say_more_than_a_project(place):
    place.write(users_profile="primary: false", project=scout('"limits": {"capMs": 5}'))
    assert place.allowed().clocks.cap_ms == 5
    assert place.allowed(limits=Limits(cap_ms=50)).clocks.cap_ms == 50


def test_a_calls_shorter_time_shortens_the_extension_that_follows_from_it(place):
    place.write(users_profile="primary: false")
    assert place.allowed(limits=Limits(soft_ms=5)).clocks.extend_ms == 5


@pytest.mark.parametrize(
    ("users_profile", "project", "projects_profile", "cap_ms"),
    [
        ("limits: {capMs: 50}", 60, None, 50),
        ("limits: {capMs: 50}", 40, None, 40),
        ("limits: {capMs: 9000000}", 8000000, None, 8000000),
        ("limits: {capMs: 9000000}", None, "limits: {capMs: 8000000}", 8000000),
        ("limits: {capMs: 50}", None, "limits: {capMs: 60}", 50),
        ("limits: {capMs: 50}", None, "primary: true", 50),
        (None, None, "limits: {capMs: 9000000}", 3600000),
        (None, None, "limits: {capMs: 7}", 7),
        (None, 6, "limits: {capMs: 7}", 6),
        (None, 8, "limits: {capMs: 7}", 7),
    ],
)
def test_a_project_lowers_the_cap_and_never_raises_it(place, users_profile, project, projects_profile, cap_ms):
    place.write(
        users_profile=users_profile,
        project=project and scout(f'"limits": {{"capMs": {project}}}'),
        projects_profile=projects_profile,
    )
    assert place.allowed().clocks.cap_ms == cap_ms


def test_the_users_entry_stands_above_a_projects_profile(place):
    place.write(user=scout('"limits": {"capMs": 9000000}'), projects_profile="limits: {toolMs: 5}")
    assert place.allowed().clocks == Clocks(cap_ms=9_000_000, tool_ms=5)


@pytest.mark.parametrize(("project", "extend_ms"), [(9, 9), (999_999, 30)])
def test_a_projects_extension_is_no_longer_than_the_one_that_follows(place, project, extend_ms):
    place.write(users_profile="limits: {idleMs: 30}", project=scout(f'"limits": {{"extendMs": {project}}}'))
    assert place.allowed().clocks.extend_ms == extend_ms


def test_a_budget_is_the_lowest_that_a_project_says_and_the_first_that_others_say(place):
    place.write(
        users_profile="budget: {requests: 5, tokens: 50, costUsd: 0.5, depth: 2}",
        user=scout('"budget": {"requests": 8}'),
        project=scout('"budget": {"tokens": 60, "costUsd": "0.25"}'),
        projects_profile="budget: {depth: 0, wallMs: 9, requests: 20}",
    )
    assert place.allowed().budget == Budget(requests=8, tokens=50, cost_usd=Decimal("0.25"), depth=0, wall_ms=9)


def test_tools_that_may_repeat_are_those_of_all(place):
    place.write(
        users_profile="polling: [wait, look]",
        user='{"subagents": {"loop": {"polling": ["status"]}, "scout": {"loop": {"polling": ["wait"]}}}}',
    )
    assert place.allowed().loop.polling == ("status", "wait", "look")
    assert place.allowed(loop=LoopPolicy(identical_calls=0)).loop == LoopPolicy(identical_calls=0)


@pytest.mark.parametrize("config", ['{"subagents": {"budget": {"requests": -1}}}', scout('"budget": {"requests": -1}')])
def test_nobody_runs_on_a_budget_that_cannot_be_understood(place, config):
    place.write(user=config, users_profile="primary: false")
    loaded, profile = place.load()
    refused = allowed(profile, loaded.config)
    assert isinstance(refused, Err)
    assert refused.err_value.code == ErrorCode.CONFIG_INVALID
    assert "budget.requests' is -1" in refused.err_value.message
    assert refused.err_value.message == str(loaded.diagnostics[0])


def test_who_set_a_number_is_told(place):
    place.write(
        users_profile="limits: {toolMs: 30}\nbudget: {tokens: 50}",
        user='{"backendTimeoutMs": 20,\n"subagents": {"scout": {"limits": {"idleMs": 40}}}}',
        project=scout('"budget": {"costUsd": "0.25"}'),
        projects_profile="limits: {capMs: 9}",
    )
    assert place.sources() == {
        "limits.idleMs": (40, "set by subagents.scout.limits.idleMs (~/ohm.json:2)"),
        "limits.toolMs": (30, "set by the profile ~/subagents/scout.md"),
        "limits.softMs": (20, "set by backendTimeoutMs (~/ohm.json:1)"),
        "limits.extendMs": (20, "follows from idleMs and softMs"),
        "limits.capMs": (9, "set by the profile .pi/subagents/scout.md"),
        "budget.tokens": (50, "set by the profile ~/subagents/scout.md"),
        "budget.costUsd": (Decimal("0.25"), "set by subagents.scout.budget.costUsd (.pi/ohm.json:1)"),
    }


def test_what_a_project_says_in_vain_is_told(place):
    place.write(
        users_profile="budget: {tokens: 50}",
        project=scout('"limits": {"capMs": 3600001, "idleMs": 5}, "budget": {"requests": 9}'),
        projects_profile="budget: {tokens: 51, costUsd: 1}",
    )
    assert place.void() == [
        ".pi/ohm.json:1: 'subagents.scout.limits.capMs' is 3600001, which has no effect: a project's file may say at "
        "most 3600000 (set by subagents.limits.capMs (default)).",
        ".pi/subagents/scout.md: 'budget.tokens' is 51, which has no effect: a project's file may say at most 50 "
        "(set by the profile ~/subagents/scout.md).",
    ]
