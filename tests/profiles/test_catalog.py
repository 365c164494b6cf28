"""Built-ins ← plugins ← user ← project, by one loader."""

import os
import subprocess
import sys

import pytest

from ohm_subagents._config.subagents import RESERVED_IDS
from ohm_subagents._config.trust import trust_everything, trust_nothing
from ohm_subagents._profiles.catalog import Catalog, load_catalog
from ohm_subagents._profiles.shipped import shipped_profiles
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.limits import Budget, Limits
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import Profile, ToolPolicy

READ_ONLY = ("read", "grep", "find", "ls", "code_search")


def profile(profile_id: str, summary: str = "S", source: str = "") -> Profile:
    return Profile(id=profile_id, name=profile_id, summary=summary, prompt="P", source=source)


@pytest.fixture
def load(tmp_path):
    user, cwd = tmp_path / "user", tmp_path / "project"

    def load(*, user_files=(), project_files=(), plugins=(), agents=(), trusts=trust_everything):
        for folder, written in ((user / "subagents", user_files), (cwd / ".pi" / "subagents", project_files)):
            folder.mkdir(parents=True)
            for name, text in dict(written).items():
                (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_catalog(cwd=cwd, config_dir=user, plugin_profiles=(*plugins, *agents), trusts=trusts)

    return load


def test_five_profiles_ship_in_catalogue_order():
    ids = [one.id for one in shipped_profiles()]
    assert ids == ["librarian", "oracle", "finder", "task", "painter"]
    assert [one.id for one in shipped_profiles() if one.primary] == ["librarian"]
    assert not any(one.internal for one in shipped_profiles())
    assert all(one.summary and one.when_to_use and one.prompt for one in shipped_profiles())


def test_built_ins_have_the_least_tools_that_do_the_work():
    tools = {one.id: one.tools.allowed for one in shipped_profiles()}
    assert tools == {
        "librarian": READ_ONLY,
        "oracle": READ_ONLY,
        "finder": READ_ONLY,
        "task": ("read", "bash", "edit", "write", "grep", "find", "ls", "code_search"),
        "painter": ("read", "write", "ls"),
    }


def test_the_inputs_are_those_of_the_document():
    inputs = {one.id: [(field.name, field.role, field.required) for field in one.inputs] for one in shipped_profiles()}
    description = ("description", "description", False)
    assert inputs == {
        "librarian": [("query", "prompt", True), ("context", "context", False), description],
        "oracle": [("task", "prompt", True), ("context", "context", False), ("files", "files", False), description],
        "finder": [("query", "prompt", True), description],
        "task": [],
        "painter": [],
    }


def test_only_search_profiles_fall_back_to_the_embedded_model():
    search = ModelPattern(provider="local", model="search")
    assert {one.id: one.fallback_model for one in shipped_profiles() if one.fallback_model} == {
        "librarian": search,
        "finder": search,
    }
    assert {one.id: one.feature for one in shipped_profiles() if one.feature} == {"painter": "painterImagegen"}


def test_no_built_in_has_a_reserved_id():
    assert not RESERVED_IDS & {one.id for one in shipped_profiles()}


def test_later_sources_override_by_id_and_keep_the_place_in_the_order(load):
    catalog = load(
        plugins=[profile("scout", "plugin", "a plugin"), profile("finder", "plugin")],
        user_files={"finder.md": "---\nsummary: user\n---\nP", "own.md": "---\nsummary: user\n---\nP"},
        project_files={"anything.md": "---\nid: Scout\nsummary: project\n---\nP", "notes.txt": "no profile"},
    )
    assert catalog.diagnostics == ()
    assert [(one.id, one.summary) for one in catalog.profiles if one.summary in {"plugin", "user", "project"}] == [
        ("finder", "user"),
        ("scout", "project"),
        ("own", "user"),
    ]
    assert [one.id for one in catalog.profiles][:5] == ["librarian", "oracle", "finder", "task", "painter"]
    assert catalog.available() == ("finder", "librarian", "oracle", "own", "painter", "scout", "task")


@pytest.mark.parametrize(
    ("users", "projects", "allowed", "denied"),
    [
        ("[read, ls]", "[read, bash]", ("read",), ()),
        ("[read, ls]", None, ("read", "ls"), ()),
        ("[read, ls]", "{deny: [LS]}", ("read",), ("LS",)),
        ("{deny: [bash]}", "[Bash, read]", ("read",), ("bash",)),
        ("{deny: [bash]}", None, None, ("bash",)),
        (None, "[read]", ("read",), ()),
    ],
)
def test_a_projects_profile_has_no_tool_that_the_one_it_overrides_has_not(load, users, projects, allowed, denied):
    def text(tools, prompt):
        return f"---\nsummary: S\n{f'tools: {tools}' if tools else ''}\n---\n{prompt}"

    catalog = load(user_files={"own.md": text(users, "user")}, project_files={"own.md": text(projects, "project")})
    own = catalog.find("own")
    assert (own.prompt, own.tools.allowed, own.tools.denied) == ("project", allowed, denied)


def test_a_project_that_arms_a_built_in_is_told_so(load, tmp_path):
    catalog = load(project_files={"finder.md": "---\nsummary: S\ntools: [read, bash]\n---\nMine"})
    assert (catalog.find("finder").prompt, catalog.find("finder").tools.allowed) == ("Mine", ("read",))
    path = tmp_path / "project" / ".pi" / "subagents" / "finder.md"
    assert [str(one) for one in catalog.diagnostics] == [
        f"{path}: The profile 'finder' of a project does not get the tool 'bash': builtin/finder.md, which it "
        "overrides, gives less, and a project's file cannot add to it. The user's file can."
    ]


def test_a_project_cannot_open_what_is_internal_or_behind_a_feature(load):
    catalog = load(
        user_files={"own.md": "---\nsummary: S\ninternal: true\n---\nP"},
        project_files={"own.md": "---\nsummary: S\n---\nP", "painter.md": "---\nsummary: S\n---\nP"},
    )
    assert catalog.find("own").internal
    assert catalog.find("painter").feature == "painterImagegen"
    assert len(catalog.diagnostics) == 2


def test_a_projects_profile_shows_its_subagent_no_more_of_the_environment(load, tmp_path):
    users, projects = (f"---\nsummary: S\nenv: [{names}]\n---\np" for names in ("A", "A, SECRET"))
    catalog = load(user_files={"own.md": users}, project_files={"own.md": projects, "new.md": projects})
    assert (catalog.find("own").env, catalog.find("new").env) == (("A",), ())
    folder = tmp_path / "project" / ".pi" / "subagents"
    void = "in 'env', which has no effect: a project's file cannot show a subagent more of the environment."
    assert [str(one) for one in catalog.diagnostics] == [
        f"{folder}/new.md: The profile 'new' of a project names 'A', 'SECRET' {void} The user's file can.",
        f"{folder}/own.md: The profile 'own' of a project names 'SECRET' {void} The user's file can.",
    ]


@pytest.mark.parametrize(
    ("users", "projects", "backend", "is_void"),
    [
        ("", "backend: interactive-shell", None, True),
        ("", "backend: none", "none", False),
        ("backend: interactive-sdk", "backend: claude", "interactive-sdk", True),
        ("backend: interactive-sdk", "", "interactive-sdk", False),
        ("backend: claude", "backend: claude", "claude", False),
        ("backend: claude", "backend: interactive-sdk", "interactive-sdk", False),
    ],
)
def test_a_projects_profile_runs_on_no_backend_of_its_own_choice(load, users, projects, backend, is_void):
    files = [{"own.md": f"---\nsummary: S\n{backend}\n---\np"} for backend in (users, projects)]
    catalog = load(user_files=files[0], project_files=files[1])
    assert catalog.find("own").backend == backend
    void = "as 'backend', which has no effect: a project chooses none, interactive-sdk once it is trusted,"
    assert [void in one.message for one in catalog.diagnostics] == ([True] if is_void else [])


@pytest.mark.parametrize(
    ("users", "projects", "backend"),
    [
        ("", "backend: interactive-sdk", None),
        ("", "backend: none", "none"),
        ("backend: docker", "backend: interactive-sdk", "docker"),
        ("backend: docker", "", "docker"),
        ("backend: docker", "backend: none", "none"),
        ("backend: none", "backend: interactive-sdk", "none"),
        ("backend: interactive-sdk", "backend: interactive-sdk", "interactive-sdk"),
    ],
)
def test_a_profile_of_a_project_that_is_not_trusted_moves_to_no_backend_but_none(load, users, projects, backend):
    files = [{"own.md": f"---\nsummary: S\n{said}\n---\np"} for said in (users, projects)]
    catalog = load(user_files=files[0], project_files=files[1], trusts=trust_nothing)
    assert catalog.find("own").backend == backend
    is_void = any("as 'backend', which has no effect" in one.message for one in catalog.diagnostics)
    assert is_void == (projects not in {"", f"backend: {backend}"})


def test_the_limits_of_a_project_lower_and_its_polling_is_void(load, tmp_path):
    users = "---\nsummary: S\nlimits: {capMs: 50}\nbudget: {requests: 5}\npolling: [wait]\n---\nuser"
    projects = "---\nsummary: S\nlimits: {capMs: 90}\nbudget: {tokens: 7}\npolling: [Wait, bash]\n---\nproject"
    catalog = load(user_files={"own.md": users}, project_files={"own.md": projects, "new.md": projects})
    own, new = catalog.find("own"), catalog.find("new")
    assert (own.prompt, own.limits, own.ceiling.limits) == ("project", Limits(cap_ms=50), Limits(cap_ms=90))
    assert (own.budget, own.ceiling.budget, own.polling) == (Budget(requests=5), Budget(tokens=7), ("wait",))
    assert (new.limits, new.ceiling.limits, new.budget, new.polling) == (None, Limits(cap_ms=90), None, ())
    folder = tmp_path / "project" / ".pi" / "subagents"
    void = "in 'polling', which has no effect: a project's file cannot exempt a tool from the loop guard."
    assert [str(one) for one in catalog.diagnostics] == [
        f"{folder}/new.md: The profile 'new' of a project names 'Wait', 'bash' {void} The user's file can.",
        f"{folder}/own.md: The profile 'own' of a project names 'bash' {void} The user's file can.",
    ]


@pytest.mark.parametrize(
    ("users", "projects", "land"),
    [("clean", "clean", "clean"), ("never", "clean", "never"), ("clean", "never", "never"), (None, "clean", None)],
)
def test_a_profile_of_a_project_forbids_that_work_lands_by_itself_and_never_allows_it(load, users, projects, land):
    own = "" if users is None else f"land: {users}\n"
    files = [{"own.md": f"---\nsummary: S\n{said}---\np"} for said in (own, f"land: {projects}\n")]
    catalog = load(user_files=files[0], project_files=files[1])
    assert catalog.find("own").land == land
    assert any("as 'land', which has no effect" in one.message for one in catalog.diagnostics) == (projects != land)


def test_a_broken_file_is_one_diagnostic_and_costs_nothing_else(load, tmp_path):
    catalog = load(
        user_files={
            "broken.md": "---\nsummary: [\n---\nP",
            "binary.md": b"---\nsummary: \xff\n---\nP",
            "good.md": "---\nsummary: S\ncolour: red\n---\nP",
            "none.md": "no front matter",
        }
    )
    folder = tmp_path / "user" / "subagents"
    told = [str(one) for one in catalog.diagnostics]
    assert len(told) == 4
    assert told[0] == f"Cannot read profiles from '{folder}/binary.md': it is not UTF-8 text."
    assert told[1].startswith(f"The profile {folder}/broken.md:")
    assert told[2].startswith(f"{folder}/good.md:3: 'colour' is not a key of a profile")
    assert told[3].startswith(f"The profile {folder}/none.md:1 has no front matter.")
    assert catalog.find("good") is not None
    assert len(catalog.profiles) == 6


def test_only_regular_files_of_a_sane_size_are_read(tmp_path):
    folder = tmp_path / "subagents"
    folder.mkdir()
    os.mkfifo(folder / "pipe.md")
    (folder / "device.md").symlink_to("/dev/zero")
    (folder / "folder.md").mkdir()
    (folder / "huge.md").write_bytes(b"---\nsummary: S\n---\n" + b"P" * 1024 * 1024)
    catalog = load_catalog(cwd=tmp_path, config_dir=tmp_path, plugin_profiles=())
    assert [str(one) for one in catalog.diagnostics] == [
        f"Cannot read profiles from '{folder}/device.md': it is not a regular file.",
        f"Cannot read profiles from '{folder}/folder.md': is a directory.",
        f"Cannot read profiles from '{folder}/huge.md': it is larger than 1048576 bytes.",
        f"Cannot read profiles from '{folder}/pipe.md': it is not a regular file.",
    ]


@pytest.mark.parametrize(
    "reserved",
    [
        "permissions",
        "profiles",
        "backends",
        "model",
        "store",
        "taskmaxconcurrency",
        "limits",
        "loop",
        "budget",
        "maxrequests",
    ],
)
def test_a_reserved_id_is_refused_from_every_source(load, reserved):
    catalog = load(
        plugins=[profile(reserved, source="plugin x")], project_files={f"{reserved}.md": "---\nsummary: S\n---\nP"}
    )
    assert len(catalog.profiles) == 5
    assert len(catalog.diagnostics) == 2
    assert all(f"the id '{reserved}' is reserved" in one.message for one in catalog.diagnostics)
    assert catalog.diagnostics[0].source == "plugin x"


def test_within_one_source_the_first_of_two_equal_ids_stays(load):
    catalog = load(
        user_files={"a.md": "---\nid: x\nsummary: first\n---\nP", "b.md": "---\nid: X\nsummary: second\n---\nP"}
    )
    assert catalog.find("x").summary == "first"
    (told,) = catalog.diagnostics
    assert "the id 'x' is taken by" in told.message
    assert told.message.endswith("a.md. Give it another id.")


def test_a_folder_that_is_both_the_users_and_the_projects_is_read_once(tmp_path):
    (tmp_path / ".pi" / "subagents").mkdir(parents=True)
    (tmp_path / ".pi" / "subagents" / "bad.md").write_text("x")
    catalog = load_catalog(cwd=tmp_path, config_dir=tmp_path / ".pi", plugin_profiles=())
    assert len(catalog.diagnostics) == 1


def test_a_folder_that_is_a_file_is_no_folder(tmp_path):
    (tmp_path / "subagents").write_text("x")
    assert load_catalog(cwd=tmp_path, config_dir=tmp_path, plugin_profiles=()).diagnostics == ()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("finder", "finder"),
        (" FINDER ", "finder"),
        ("Finder\n", "finder"),
        ("", None),
        ("nobody", None),
        ("find", None),
    ],
)
def test_lookup_trims_and_folds(typed, found):
    catalog = Catalog.of(shipped_profiles())
    profile = catalog.find(typed)
    assert (profile.id if profile else None) == found


def test_a_catalogue_may_be_made_of_given_profiles():
    catalog = Catalog.of([profile("a"), profile("b"), profile("A"), profile("permissions")])
    assert [one.id for one in catalog.profiles] == ["a", "b"]
    assert len(catalog.diagnostics) == 2


@pytest.mark.slow
def test_yaml_is_imported_only_when_a_file_of_somebody_is_read(tmp_path):
    code = f"""
import sys
from pathlib import Path
from ohm_subagents._profiles.catalog import load_catalog

home = Path({str(tmp_path)!r})

def read():
    return len(load_catalog(cwd=home, config_dir=home, plugin_profiles=()).profiles)

assert read() == 5 and "yaml" not in sys.modules
folder = home / "subagents"
folder.mkdir()
folder.joinpath("own.md").write_text("---\\nsummary: S\\n---\\nDo it.")
assert read() == 6 and "yaml" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def agent(name: str, tools: ToolPolicy | None = None, **options) -> Profile:
    return Profile(
        id=name,
        name=name,
        summary=f"profile: {name}",
        prompt="P",
        tools=tools or ToolPolicy(),
        agent=AgentOptions(**options),
        source=f"agent-profiles/{name}.md",
        suite="delegate",
    )


def test_agent_profiles_stand_between_plugins_and_the_users_files(load):
    catalog = load(
        plugins=[profile("one"), profile("two"), profile("three")],
        agents=[agent("two"), agent("three"), agent("Four")],
        user_files={"three.md": "---\nsummary: Mine.\n---\nP"},
    )
    assert [catalog.find(name).summary for name in ("one", "two", "three", "four")] == [
        "S",
        "profile: two",
        "Mine.",
        "profile: Four",
    ]


def test_of_agent_profiles_with_one_name_the_last_stands(load):
    catalog = load(agents=[agent("p", provider="first"), agent("p", provider="second")])
    assert catalog.find("p").agent.provider == "second"
    assert not catalog.diagnostics


def test_a_projects_agent_profile_gets_no_more_than_the_one_that_it_overrides(load):
    mine = agent(
        "p",
        ToolPolicy(allowed=("read", "bash", "web_search")),
        extensions=("a.js",),
        no_context_files=True,
        no_skills=True,
        extra_args=("--quiet",),
    )
    theirs = agent(
        "p",
        ToolPolicy(denied=("bash",)),
        is_local=True,
        extensions=("a.js", "b.js"),
        load_skills=("x",),
        extra_args=("--verbose",),
        provider="acme",
    )
    catalog = load(agents=[mine, theirs])
    found = catalog.find("p")
    assert found.tools == ToolPolicy(allowed=("read", "web_search"))
    assert found.agent == AgentOptions(
        is_local=True, extensions=("a.js",), no_context_files=True, no_skills=True, provider="acme"
    )
    assert [str(one) for one in catalog.diagnostics] == [
        "agent-profiles/p.md: The profile 'p' of a project does not get the tools 'code_search', 'edit', "
        "'find', 'grep', 'ls', 'write': agent-profiles/p.md, which it overrides, "
        "gives less, and a project's file cannot add to it. The user's file can.",
        "agent-profiles/p.md: The profile 'p' of a project names more in 'extensions', 'loadSkills', 'extraArgs' than "
        "it gets: a project's file cannot add to how an agent is started. The user's file can.",
    ]


def test_a_projects_agent_profile_cannot_arm_a_built_in(load):
    catalog = load(agents=[agent("finder", ToolPolicy(allowed=("read", "bash")), is_local=True, extensions=("a.js",))])
    found = catalog.find("finder")
    assert found.tools == ToolPolicy(allowed=("read",))
    assert found.agent == AgentOptions(is_local=True)
    assert len(catalog.diagnostics) == 2


def test_a_conflict_in_a_projects_agent_profile_stays_one(load):
    both = ToolPolicy(allowed=("read",), denied=("grep",))
    assert load(agents=[agent("finder", both, is_local=True)]).find("finder").tools == both


def test_an_agent_profile_cannot_have_a_reserved_id(load):
    catalog = load(agents=[agent("Permissions")])
    assert catalog.find("permissions") is None
    assert "is reserved" in str(catalog.diagnostics[0])
