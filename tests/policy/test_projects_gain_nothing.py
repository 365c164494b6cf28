"""Whatever a user says, a repository's files make no number larger than it is without them."""

import json
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ohm_subagents._config.load import load_config
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.trust import trust_everything, trust_nothing
from ohm_subagents._policy.allowance import run_limits
from ohm_subagents._profiles.catalog import load_catalog
from ohm_subagents.contract.limits import Clocks, Limits
from ohm_subagents.contract.result import Err
from ohm_subagents.suite import Place
from ohm_subagents.suites.delegate.settings import load_settings

DEFAULTS = OhmConfig().model_dump(mode="json", by_alias=True)
NAMES = ("scout", "loops", "budget-of")
NUMBERS = st.sampled_from([0, 1, 2, 4, 5, 9, 32, 5000, 180_000, 180_001, 600_000, 3_600_000, 9_000_000])
AMOUNTS = NUMBERS | st.sampled_from(["0.5", "0.50000000000000001", 0.25, 1e-7])


def keys(model):
    return [str(field.alias) for field in model.model_fields.values() if field.alias != "polling"]


def section(which, values):
    at = OhmConfig() if which is None else getattr(OhmConfig().subagents, which)
    chosen = {key: AMOUNTS if key == "costUsd" else values for key in keys(type(at))}
    return st.fixed_dictionaries({}, optional=chosen)


def own():
    limits = {key: NUMBERS | st.none() for key in (*keys(type(OhmConfig().subagents.limits)), "softMs")}
    return st.fixed_dictionaries(
        {},
        optional={
            "limits": st.fixed_dictionaries({}, optional=limits),
            "loop": section("loop", NUMBERS | st.none()),
            "budget": section("budget", NUMBERS | st.none()),
        },
    )


def numeric(value):
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def configs():
    """An ohm.json with any number that there may be in one, and null where a number may be."""
    spelt = st.sampled_from([*NAMES, " Scout", "LOOPS"])
    subagents = {
        "limits": section("limits", NUMBERS | st.none()),
        "loop": section("loop", NUMBERS),
        "budget": section("budget", NUMBERS | st.none()),
        "maxRequests": st.dictionaries(st.sampled_from(["openai", " OpenAI ", "loop", "Loop"]), NUMBERS),
        "profiles": st.dictionaries(spelt, own(), max_size=3),
        **{key: NUMBERS | st.none() for key, value in DEFAULTS["subagents"].items() if numeric(value)},
    }
    top = {key: NUMBERS for key, value in DEFAULTS.items() if numeric(value)}
    return st.fixed_dictionaries({}, optional={**top, "subagents": st.fixed_dictionaries({}, optional=subagents)})


def matters():
    """The front matter of a profile."""
    return st.none() | own().map(lambda said: {key: said[key] for key in ("limits", "budget") if key in said})


CALLS = st.none() | st.builds(
    Limits, **{name: st.none() | NUMBERS for name in ("idle_ms", "tool_ms", "soft_ms", "extend_ms", "cap_ms")}
)
VARIABLES = st.fixed_dictionaries(
    {},
    optional={f"OHM_SUBAGENTS_{name}": NUMBERS.map(str) for name in ("BACKEND_TIMEOUT_MS", "OUTPUT_MAX_CHARS")},
)


def infinite(value):
    return Decimal("Infinity") if value is None else Decimal(str(value))


def grown(ours: object, theirs: object) -> list[str]:
    """The fields of which the second says more than the first."""
    return [
        field.name
        for field in fields(ours)
        if isinstance(getattr(ours, field.name), int | float | Decimal | None)
        and infinite(getattr(theirs, field.name)) > infinite(getattr(ours, field.name))
    ]


def loosened(ours, theirs):
    """The rules of loops that strike later: 0 is never."""
    rules = ("identical_calls", "alternations", "same_results")
    more = [rule for rule in rules if infinite(getattr(theirs, rule) or None) > infinite(getattr(ours, rule) or None)]
    return [*more, *(name for name in theirs.polling if name not in ours.polling)]


class Both:
    """The same place without and with what a project says."""

    def __init__(self, root):
        self.user, self.cwd = root / "user", root / "work"
        self.project = self.cwd / ".pi"
        for folder in (self.user, self.project):
            (folder / "subagents").mkdir(parents=True)
        for name in NAMES:
            (self.user / "subagents" / f"{name}.md").write_text("---\nsummary: S\n---\nP")

    def write(self, folder, config, matter):
        (folder / "ohm.json").write_text(json.dumps(config))
        if matter is not None:
            said = "".join(f"{key}: {json.dumps(value)}\n" for key, value in matter.items())
            (folder / "subagents" / "scout.md").write_text(f"---\nsummary: S\n{said}---\nP")

    def seen(self, env, trusts):
        env = {"PI_CONFIG_DIR": str(self.user), "HOME": str(self.user), **env}
        loaded = load_config(cwd=self.cwd, config=None, env=env, trusts=trusts)
        assert not isinstance(loaded, Err), loaded
        catalog = load_catalog(cwd=self.cwd, config_dir=self.user, plugin_profiles=(), trusts=trusts)
        return loaded.ok_value.config, {name: catalog.find(name) for name in NAMES}


def allowed(profile, config, call):
    return run_limits(profile, config.subagents.entry(profile.id), config, limits=call)


@pytest.mark.sample(2)
@pytest.mark.parametrize("examples", [15, pytest.param(75, marks=pytest.mark.slow)])
@pytest.mark.parametrize("trusts", [trust_nothing, trust_everything])
def test_no_clock_no_budget_and_no_number_is_larger_for_what_a_project_says(trusts, examples):
    @settings(max_examples=examples, deadline=None)
    @given(configs(), configs(), matters(), matters(), CALLS, VARIABLES)
    @example(
        {"subagents": {"profiles": {"scout": {"limits": {"softMs": 5000, "idleMs": 5000}}}}},
        {"subagents": {"limits": {"extendMs": 180_000}}},
        *(None, None, None, {}),
    )
    @example({}, {"subagents": {"limits": {"extendMs": 180_000}}}, None, None, Limits(soft_ms=5000), {})
    @example(
        {},
        {"subagents": {"limits": {"extendMs": 180_000}}},
        None,
        None,
        None,
        {"OHM_SUBAGENTS_BACKEND_TIMEOUT_MS": "5"},
    )
    @example(
        {"subagents": {"profiles": {"loops": {"budget": {"spawns": 0}}}, "maxRequests": {"loop": 1}}},
        {"subagents": {"profiles": {"loops": {"budget": {"spawns": 9}}}, "maxRequests": {"Loop": 2}}},
        *(None, None, None, {}),
    )
    def holds(users, projects, users_profile, projects_profile, call, env):
        with TemporaryDirectory() as folder:
            both = Both(Path(folder))
            both.write(both.user, users, users_profile)
            ours, profiles = both.seen(env, trusts)
            both.write(both.project, projects, projects_profile)
            theirs, replaced = both.seen(env, trusts)
        for name, before in profiles.items():
            if before is None or replaced[name] is None:  # a file with something wrong in it is no profile
                continue
            was = allowed(before, ours, call)
            now = allowed(replaced[name], theirs, call)
            if isinstance(was, Err) or isinstance(now, Err):  # a budget that nobody understands: nothing runs
                assert isinstance(now, Err), (was, now)
                continue
            was, now = was.ok_value, now.ok_value
            assert not grown(was.clocks, now.clocks)
            assert not grown(was.budget, now.budget)
            assert not loosened(was.loop, now.loop)
        assert not grown(ours.said_limits().over(LONG), theirs.said_limits().over(LONG))
        assert not grown(ours.subagents.tree_budget(), theirs.subagents.tree_budget())
        for provider, most in ours.subagents.max_requests.items():
            assert theirs.subagents.max_requests[provider] <= most
        if trusts is trust_nothing:
            assert not gains(ours, theirs)

    holds()


LONG = Limits(**{field.name: 2**53 for field in fields(Clocks) if field.name not in {"extension", "extend_ms"}})
LEAST = {"onupdate_throttle_ms", "ui_update_ms"}
"""Less of these is more work."""


def gains(ours, theirs):
    pairs = [*numbers(ours, theirs), *numbers(ours.subagents, theirs.subagents)]
    return [
        name
        for name, was, now in pairs
        if (infinite(now) < infinite(was) if name in LEAST else infinite(now) > infinite(was))
    ]


def numbers(ours, theirs):
    for name in type(ours).model_fields:
        was, now = getattr(ours, name), getattr(theirs, name)
        if numeric(was) and numeric(now):
            yield name, was, now


SETTINGS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("maxLinesPerWindow", "commandPreviewWidth", "extend_timeout_debounce", "looping_tool_count"),
        st.sampled_from([0, 1, 4, 5, 6, 20, 30, 31, 50, 51, 300, 10**9, -1, 0.5, True, "5", None]),
    ),
)


@given(SETTINGS, SETTINGS)
@settings(max_examples=40, deadline=None)
def test_no_number_of_settings_is_larger_for_what_a_project_says(users, projects):
    with TemporaryDirectory() as folder:
        both = Both(Path(folder))

        def seen():
            found, _ = load_settings(Place(agent_dir=both.user, cwd=both.cwd))
            return found

        (both.user / "settings.json").write_text(json.dumps({"subagents": users}))
        ours = seen()
        (both.project / "settings.json").write_text(json.dumps({"subagents": projects}))
        theirs = seen()
    assert not grown(replace(ours, looping_tool_count=0), replace(theirs, looping_tool_count=0))
    assert infinite(theirs.looping_tool_count or None) <= infinite(ours.looping_tool_count or None)
