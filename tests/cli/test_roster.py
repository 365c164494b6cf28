from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from ohm_subagents._config.load import LoadedConfig, load_config
from ohm_subagents.backends.in_process.models import ModelBook
from ohm_subagents.cli.readiness import chosen_model
from ohm_subagents.cli.roster import profile_text, roster_text, usage_text
from ohm_subagents.contract import ModelPattern, Profile
from ohm_subagents.contract.result import Ok

VECTORS = {
    vector["name"]: vector
    for vector in json.loads((Path(__file__).parent / "commands.json").read_text(encoding="utf-8"))
}
# What ours says instead, and why.
REPLACED = {
    "feature off": ("defaults + extension settings", "defaults"),  # the reference's extension settings are not read
    "custom profile requiring a package, gate off": ("PAI-PACKAGE", "none"),  # no profile needs a package here
}


def profile(profile_id: str, *, uses: int = 0, primary: bool = False) -> Profile:
    return Profile(
        id=profile_id,
        name=profile_id.capitalize(),
        summary=f"{{{{{profile_id}.summary}}}}",
        prompt=f"{{{{{profile_id}.scaffold}}}}",
        when_to_use=tuple(f"{{{{{profile_id}.when.{n}}}}}" for n in range(1, uses + 1)),
        primary=primary,
    )


PROFILES = (profile("librarian", uses=7, primary=True), profile("oracle", uses=5), profile("finder"))
PAINTER = Profile(
    id="painter",
    name="Painter",
    summary="PAI-SUMMARY",
    prompt="PAI-SCAFFOLD",
    when_to_use=("PAI-WHEN-1",),
    feature="painterImagegen",
)


def loaded_from(config: dict, files: tuple[str, ...] = ()) -> LoadedConfig:
    match load_config(cwd=Path(), config=config, env={}):
        case Ok(loaded):
            return replace(loaded, loaded_from=files)
        case error:
            raise AssertionError(error)


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_texts_are_as_documented(name: str) -> None:
    vector = VECTORS[name]
    loaded = loaded_from(vector["config_patch"], tuple(vector.get("loaded_from", ())))
    match vector["command"].split():
        case ["ohm-subagents"]:
            text = roster_text(PROFILES, loaded, command="/ohm-subagent")
        case ["ohm-subagent", wanted]:
            found = next(profile for profile in PROFILES if profile.id == wanted)
            text = profile_text(found, loaded.config.features, model=None)
        case _:
            text = profile_text(PAINTER, loaded.config.features, model=None)
    assert text == vector["expect"].replace(*REPLACED.get(name, ("", "")))


def test_a_model_is_shown_in_its_parts() -> None:
    model = ModelPattern(provider="openai", model="gpt-5", thinking="high")
    lines = profile_text(PAINTER, loaded_from({}).config.features, model=model).splitlines()
    assert lines[4:7] == ["model: openai/gpt-5", "thinking: high", "modelPattern: openai/gpt-5:high"]


def test_a_profile_whose_feature_is_off_says_which() -> None:
    text = roster_text((PAINTER,), loaded_from({"features": {"painterImagegen": False}}), command="x")
    assert "- Painter (painter): PAI-SUMMARY [requires features.painterImagegen · task-routed]" in text


def test_an_unknown_id_is_answered_with_those_there_are() -> None:
    assert usage_text(PROFILES, command="ohm subagent") == (
        "Usage: ohm subagent <id>\n\nValid ids: librarian, oracle, finder"
    )


def test_a_profile_shows_what_it_may_take_and_who_says_so(ohm) -> None:
    path = ohm.configure(
        '{"subagents": {\n"limits": {"capMs": 9000},\n"loop": {"alternations": 0},\n'
        '"finder": {"budget": {"costUsd": 0.5}, "loop": {"polling": ["ls"]}}}}'
    )
    lines = ohm("subagent", "finder").stdout.splitlines()
    at = lines.index("Limits:")
    assert lines[at + 1 : at + 9] == [
        "- idleMs: 180000 (set by subagents.limits.idleMs (default))",
        "- toolMs: 600000 (set by subagents.limits.toolMs (default))",
        "- softMs: 180000 (set by backendTimeoutMs (default))",
        "- extendMs: 180000 (follows from idleMs and softMs)",
        f"- capMs: 9000 (set by subagents.limits.capMs ({path}:2))",
        f"- budget.costUsd: 0.5 (set by subagents.finder.budget.costUsd ({path}:4))",
        "- loop: identicalCalls 5, alternations off, sameResults 10",
        "- may repeat: ls",
    ]


def test_the_rules_for_commands_are_shown_in_the_roster_and_of_one_subagent(ohm) -> None:
    path = ohm.configure({"subagents": {"task": {"tools": ["read", "bash: git diff *"]}}})
    rule = f"bash only: git diff * ({path}:1)"
    roster, shown = ohm("subagents").stdout.splitlines(), ohm("subagent", "task").stdout.splitlines()
    at = roster.index(f"  {rule}")
    assert roster[at - 1].startswith("- Task (task): ")
    assert shown[shown.index(rule) - 1] == "tools: read, bash"
    assert sum("bash" in line for line in roster) == 1


def test_a_subagent_without_a_clear_budget_is_not_available(ohm) -> None:
    ohm.configure('{"subagents": {"finder": {"budget": {"costUsd": "much"}}}}')
    done = ohm("subagent", "finder")
    assert "available: no (" in done.stdout
    assert "'subagents.finder.budget.costUsd' is 'much', but has to be a number" in done.stdout


OWN, COMMON = {"finder": {"model": "acme/own"}}, {"model": "acme/common"}
WRITTEN = replace(PROFILES[2], model=ModelPattern(provider="acme", model="written"), source="finder.md")


@pytest.mark.parametrize(
    ("config", "finder", "expected"),
    [
        (OWN | COMMON, WRITTEN, ("acme/own", "set by subagents.finder.model (config)")),
        (COMMON, WRITTEN, ("acme/written", "set by the profile finder.md")),
        (COMMON, PROFILES[2], ("acme/common", "set by subagents.model (config)")),
        ({}, PROFILES[2], None),
    ],
)
def test_the_model_is_named_with_what_decided_it(config: dict, finder: Profile, expected) -> None:
    found = chosen_model(finder, loaded_from({"subagents": config}), ModelBook((), {}))
    assert expected == (found and (str(found[0]), found[1]))


def test_help_lists_the_commands_by_name_whole_and_with_examples(ohm):
    told = ohm("--help")
    described = [ohm(group, "--help").stdout.partition("Commands:\n")[2] for group in ("config", "policy", "profile")]
    _, _, below = told.stdout.partition("Commands:\n")
    commands, _, examples = below.partition("Examples:")
    lines = [line for line in commands.splitlines() if line.strip()]
    names = [line.split()[0] for line in lines]

    assert names == sorted(names)
    assert len(names) > 12
    assert [line for line in (*lines, *described) if "..." in line or not line] == []
    assert 'ohm run finder "' in examples


def test_every_option_of_a_new_profile_is_explained(ohm):
    told = ohm("profile", "new", "--help")
    options = [line for line in told.stdout.partition("Options:")[2].splitlines() if line.strip().startswith("--")]

    assert len(options) > 14
    assert [line for line in options if len(line.split()) < 3] == []


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("fidner", "Did you mean 'finder'? Available profiles: "),
        ("Orcale", "Did you mean 'oracle'? Available profiles: "),
        ("xyz", "No subagent profile found for 'xyz'. Available profiles: "),
    ],
)
def test_an_id_that_nobody_has_is_answered_with_what_was_perhaps_meant(ohm, typed, hint):
    refused = ohm("run", typed, "x", "--backend", "none")

    assert refused.returncode == 2
    assert hint in refused.stderr


def test_an_agent_profile_that_is_no_subagent_is_refused_with_what_runs_it_and_how_to_make_it_one(ohm):
    ohm.configure({"subagentBackend": "none", "subagents": {"agentProfiles": False}})
    ohm("profile", "new", "reviewer", "--prompt", "You review.")
    refused = ohm("run", "reviewer", "x", "--backend", "none")

    assert refused.returncode == 2
    assert (
        "'reviewer' is an agent profile, which delegate_to_subagents (`ohm delegate`) and not task runs; "
        '"agentProfiles": ["reviewer"] under "subagents" of ohm.json lets task run it too.' in refused.stderr
    )
    ohm.configure({"subagentBackend": "none", "subagents": {"agentProfiles": ["reviewer"]}})
    assert ohm("run", "reviewer", "x").returncode == 0


def test_one_subagent_says_which_model_it_would_run_on(ohm) -> None:
    def told(name: str) -> list[str]:
        return [line for line in ohm("subagent", name).stdout.splitlines() if line.startswith(("runs on", "model:"))]

    assert told("finder") == ["model: runtime default"]
    ohm.configure({"subagentBackend": "interactive-sdk"})
    assert told("finder") == [
        "model: runtime default",
        "runs on: local/search, because nothing names a model and no key is set",
    ]
    assert told("oracle") == ["model: runtime default"]
    ohm.configure({"subagentBackend": "interactive-sdk", "subagents": {"model": "openai/gpt-5:low"}})
    (named, resolved) = told("oracle")
    assert (named, resolved.partition(" (")[0]) == (
        "model: openai/gpt-5",
        "runs on: openai/gpt-5:low, set by subagents.model",
    )


def test_agents_of_every_kind_are_listed_with_their_files(ohm):
    files = {
        "config/subagents/mine.md": "---\nsummary: s\n---\nX",
        "home/.pi/agent/agent-profiles/tidy.md": "---\nname: tidy\n---\nX",
        "home/.pi/agent/agents/tester.md": "---\nname: mine-too\n---\nX",
        "project/prompts/keeper.md": "---\nname: keeper\n---\nX",
        "home/.claude/agents/theirs.md": "---\nname: theirs\ndescription: d\n---\nX",
        "config/ohm.json": '{"suites": ["task", "single"], "subagents": {"agentFiles": ["claude"]}}',
    }
    for name, text in files.items():
        (ohm.root / name).parent.mkdir(parents=True, exist_ok=True)
        (ohm.root / name).write_text(text)
    done = ohm("subagents", "--all")
    assert done.returncode == 0
    groups = dict(part.split(":\n", 1) for part in done.stdout.strip().split("\n\n"))
    subagents = groups["Subagents of task and ohm run"].splitlines()
    assert "- librarian: profile, builtin/librarian.md" in subagents
    assert f"- mine: profile, {ohm.root}/config/subagents/mine.md" in subagents
    assert f"- tidy: agent of delegate, {ohm.root}/home/.pi/agent/agent-profiles/tidy.md" in subagents
    assert f"- theirs: agent of agent-files, {ohm.root}/home/.claude/agents/theirs.md" in subagents
    assert groups["Agents of delegate (not mounted)"].startswith("- tidy: ")
    assert f"- mine-too: agent, {ohm.root}/home/.pi/agent/agents/tester.md" in groups["Agents of single"]
    assert f"- keeper: agent, {ohm.root}/project/prompts/keeper.md" in groups["Agents of sticky (not mounted)"]


def test_help_is_given_by_a_letter_too_and_names_what_is_below_a_command(ohm) -> None:
    for words in ((), ("run",), ("config",), ("profile",), ("profiles",)):
        short, long = (ohm(*words, option) for option in ("-h", "--help"))
        assert (short.returncode, short.stdout) == (0, long.stdout)
    assert ohm("profiles", "-h").stdout.endswith("  Commands:\n    import  See ohm profiles import --help.\n")
    assert "on a terminal none" in " ".join(ohm("profile", "new", "-h").stdout.split())


def test_the_call_of_the_help_is_one_that_succeeds(ohm) -> None:
    ohm.configure({"subagentBackend": "none"})
    (line,) = (line for line in ohm("--help").stdout.splitlines() if line.strip().startswith("ohm call "))
    assert ohm(*shlex.split(line)[1:]).returncode == 0
