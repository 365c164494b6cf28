"""Agent profiles: what their files may say, what is ignored or refused, and which file stands."""

import pytest

from ohm_subagents._config.env import agent_dir
from ohm_subagents._config.trust import trust_everything
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import Profile, ToolPolicy
from ohm_subagents.files import TimedCache
from ohm_subagents.suite import Place
from ohm_subagents.suites.delegate.agents import AgentRepository, load_agents, parse_agent_profile

WHOLE = """\
---
name: Code-Reviewer_2
provider: Anthropic
model: claude-sonnet-4-5
thinkingLevel: high
appendSystemPrompt: Be concise.
apiKey: sk-1234567890
tools: [read, bash]
noExtensions: true
extensions: a.js, b.js
suggestedSkills: web-search,code-review
loadSkills: [workflow]
noContextFiles: true
extraArgs: --verbose
---

You review.

"""


def parse(text: str, *, is_local: bool = False):
    return parse_agent_profile(text, source="agent-profiles/p.md", is_local=is_local)


def profile_of(keys: str) -> Profile:
    file = parse(f"---\nname: p\n{keys}\n---\n")
    assert file.profile is not None
    assert not file.diagnostics
    return file.profile


def ignored(keys: str, *, is_local: bool = False):
    file = parse(f"---\nname: p\n{keys}\n---\nBody", is_local=is_local)
    assert file.profile is not None
    return file.profile, [str(one) for one in file.diagnostics]


def test_every_field_is_read_and_the_body_is_the_prompt():
    file = parse(WHOLE)
    assert not file.diagnostics
    assert file.profile == Profile(
        id="Code-Reviewer_2",
        name="Code-Reviewer_2",
        summary="profile: Code-Reviewer_2, model=claude-sonnet-4-5, thinking=high, custom-system-prompt, "
        "appended-system-prompt, tools=[read,bash]",
        prompt="You review.",
        model=ModelPattern(provider="anthropic", model="claude-sonnet-4-5", thinking="high"),
        tools=ToolPolicy(allowed=("read", "bash")),
        agent=AgentOptions(
            provider="Anthropic",
            model="claude-sonnet-4-5",
            thinking="high",
            appended_prompt="Be concise.",
            api_key="sk-1234567890",
            no_extensions=True,
            extensions=("a.js", "b.js"),
            suggested_skills=("web-search", "code-review"),
            load_skills=("workflow",),
            no_context_files=True,
            extra_args=("--verbose",),
        ),
        suite="delegate",
        source="agent-profiles/p.md",
    )
    assert "sk-1234567890" not in repr(file)


def test_a_body_is_not_required():
    assert profile_of("model: a/b").prompt == ""


@pytest.mark.parametrize(
    ("keys", "model"),
    [
        ("model: acme/big", ModelPattern(provider="acme", model="big")),
        ("model: acme/big:low", ModelPattern(provider="acme", model="big", thinking="low")),
        ("model: acme/big:low\nthinkingLevel: off", ModelPattern(provider="acme", model="big", thinking="off")),
        ("provider: acme\nmodel: acme/big", ModelPattern(provider="acme", model="big")),
        ("provider: openrouter\nmodel: acme/big:free", ModelPattern(provider="openrouter", model="acme/big:free")),
        ("model: big", None),
        ("provider: acme", None),
    ],
)
def test_a_model_is_known_where_its_provider_is(keys, model):
    assert profile_of(keys).model == model


def test_thinking_off_is_a_word_and_no_switch():
    assert profile_of("thinkingLevel: off").agent == AgentOptions(thinking="off")


@pytest.mark.parametrize(
    ("keys", "policy"),
    [
        ("", ToolPolicy()),
        ("tools: ' read , ,bash '", ToolPolicy(allowed=("read", "bash"))),
        ("excludeTools: [bash, '']", ToolPolicy(denied=("bash",))),
        ("tools: read\nexcludeTools: bash", ToolPolicy(allowed=("read",), denied=("bash",))),
        ("noTools: true\ntools: read\nexcludeTools: bash", ToolPolicy(allowed=())),
        ("noTools: false\ntools: read", ToolPolicy(allowed=("read",))),
    ],
)
def test_tools_are_a_policy(keys, policy):
    assert profile_of(keys).tools == policy


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("provider: 5", "agent-profiles/p.md:3: 'provider' is 5, but has to be a text; it is ignored."),
        ("model: [a]", "agent-profiles/p.md:3: 'model' is [\"a\"], but has to be a text; it is ignored."),
        (
            "noTools: 'true'",
            "agent-profiles/p.md:3: 'noTools' is 'true', but has to be true or false, not in quotes; it is ignored.",
        ),
        (
            "thinkingLevel: extreme",
            "agent-profiles/p.md:3: 'thinkingLevel' is 'extreme', but has to be one of 'off', 'minimal', 'low', "
            "'medium', 'high' or 'xhigh'; it is ignored.",
        ),
        ("apiKey: [secret]", "agent-profiles/p.md:3: 'apiKey' has to be a text; it is ignored."),
        ("extraArgs: 7", "agent-profiles/p.md:3: 'extraArgs' is 7, but has to be a list; it is ignored."),
    ],
)
def test_a_value_of_another_kind_is_ignored_and_named(keys, line):
    profile, diagnostics = ignored(keys)
    assert diagnostics == [line]
    assert profile.agent == AgentOptions()
    assert profile.tools == ToolPolicy()
    assert profile.prompt == "Body"


def test_a_bad_item_of_a_list_costs_only_itself():
    profile, diagnostics = ignored("tools:\n  - read\n  - 5\n")
    assert profile.tools == ToolPolicy(allowed=("read",))
    assert diagnostics == ["agent-profiles/p.md:5: 'tools.1' is 5, but has to be a text; it is ignored."]


@pytest.mark.parametrize("tools", ["[]", "' , '"])
def test_a_list_without_a_tool_in_it_is_no_tool_and_says_so(tools):
    profile, diagnostics = ignored(f"tools: {tools}")
    assert profile.tools == ToolPolicy(allowed=())
    assert diagnostics == [
        "agent-profiles/p.md:3: 'tools' names none: the profile gets no tool. To say nothing of its tools, leave the "
        "key out."
    ]


def test_an_unknown_key_is_named_with_what_was_meant_or_all_that_there_are():
    _, diagnostics = ignored("toolz: read\ncolour: red")
    assert diagnostics[0] == (
        "agent-profiles/p.md:3: 'toolz' is not a known key, and is ignored. Did you mean 'tools'?"
    )
    assert diagnostics[1].startswith("agent-profiles/p.md:4: 'colour' is not a known key, and is ignored. Known here: ")
    assert "excludeTools" in diagnostics[1]


def test_a_key_in_a_projects_file_is_refused_and_not_shown():
    profile, diagnostics = ignored("apiKey: sk-1234567890", is_local=True)
    assert profile.agent == AgentOptions(is_local=True)
    assert diagnostics == [
        "agent-profiles/p.md:3: 'apiKey' is refused in a project's file, where others can read it; "
        "give it in the user's own."
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nmodel: x\n---\nBody", "1: The agent profile is left out: it lacks 'name'. "),
        ("---\nmodel: x\nname: 123\n---\n", "3: The agent profile is left out: it has the name 123. "),
        ("---\nname: my profile\n---\n", "2: The agent profile is left out: it has the name 'my profile'. "),
        ("---\nname: ünal\n---\n", "2: The agent profile is left out: it has the name 'ünal'. "),
        ("Just text\n", "1: The agent profile is left out: it has no front matter. "),
        ("---\nname: [\n---\n", "3: The agent profile is left out: it is not valid YAML. "),
        ("---\n---\nBody", "1: The agent profile is left out: it lacks 'name'. "),
        ("---\n- a\n---\n", "2: The agent profile is left out: it has front matter that is not a list of keys. "),
    ],
)
def test_a_file_without_a_usable_name_is_left_out_with_its_line(text, why):
    file = parse(text)
    assert file.profile is None
    assert [one.severity for one in file.diagnostics] == ["error"]
    assert str(file.diagnostics[0]).startswith(f"agent-profiles/p.md:{why}")


_DOUBLED = "".join(f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}\n" for n in range(1, 26))
_TENFOLD = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))


@pytest.mark.parametrize(
    ("matter", "why"),
    [
        (f"m0: &m0 {{a: b}}\n{_DOUBLED}", "it has an anchor, an alias or a merge key"),
        (f"a0: &a0 [x]\n{_TENFOLD}name: *a8", "it has an anchor, an alias or a merge key"),
        (f"x: [{'a,' * 40_000}]", "it has more than 16384 bytes of keys"),
        ("x: [" * 20_000, "it has more than 16384 bytes of keys"),
        ("x: [" * 4_000, "it is not valid YAML"),
    ],
)
def test_a_small_file_cannot_make_much_of_itself(matter, why):
    """A file of which a reader makes more than it says would hang whoever opens the project."""
    file = parse(f"---\n{matter}\n---\n")
    assert file.profile is None
    assert str(file.diagnostics[0]).startswith(f"agent-profiles/p.md:2: The agent profile is left out: {why}. ")


@pytest.mark.parametrize(
    "matter",
    [
        "apiKey: sk-SECRET\napiKey: sk-SECRET2",
        "apiKey: *sk-SECRET",
        "apiKey: &sk-SECRET x",
        "apiKey: !sk-SECRET x",
        "apiKey: !sk!SECRET x",
        "apiKey: sk: SECRET",
        "apiKey: 'sk-SECRET",
        'apiKey: "\\SECRET"',
        "apiKey: `SECRET`",
        "apiKey: [SECRET",
        "apiKey: SECRET\x01",
        "? {SECRET: 1}\n: 2",
    ],
)
def test_what_is_no_yaml_is_never_quoted(matter):
    file = parse(f"---\nname: p\n{matter}\n---\n")
    assert file.profile is None
    assert len(file.diagnostics) == 1
    assert "SECRET" not in str(file.diagnostics[0])


@pytest.fixture
def place(tmp_path):
    for folder in (tmp_path / "agent" / "agent-profiles", tmp_path / "cwd" / ".pi" / "agent-profiles"):
        folder.mkdir(parents=True)
    return tmp_path


def write(folder, name, text):
    path = folder / "agent-profiles" / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def loaded(place):
    return load_agents(Place(cwd=place / "cwd", agent_dir=place / "agent", trusts=trust_everything))


def test_a_projects_profile_replaces_the_users_whole_and_names_are_told_apart_by_case(place):
    mine = write(place / "agent", "b.md", "---\nname: same\nmodel: a/b\n---\nMine")
    other = write(place / "agent", "a.md", "---\nname: Same\n---\n")
    theirs = write(place / "cwd" / ".pi", "z.md", "---\nname: same\n---\nTheirs")
    roster = loaded(place)
    assert {name: profile.source for name, profile in roster.profiles.items()} == {
        "Same": str(other),
        "same": str(theirs),
    }
    assert list(roster.profiles) == ["Same", "same"]
    assert roster.profiles["same"].agent == AgentOptions(is_local=True)
    assert [profile.source for profile in roster.read] == [str(other), str(mine), str(theirs)]
    assert not roster.diagnostics


def test_only_markdown_files_count_and_a_broken_one_costs_only_itself(place):
    write(place / "agent", "other.txt", "---\nname: no\n---\n")
    write(place / "agent", "good.md", "---\nname: yes\n---\n")
    broken = write(place / "agent", "broken.md", b"\xff\xfe")
    roster = loaded(place)
    assert list(roster.profiles) == ["yes"]
    assert [str(one) for one in roster.diagnostics] == [
        f"{broken}: The agent profile is left out: it cannot be read (it is not UTF-8 text)."
    ]


def test_of_two_files_of_a_folder_with_one_name_the_later_stands_and_is_named(place):
    first = write(place / "agent", "1.md", "---\nname: same\n---\n")
    second = write(place / "agent", "2.md", "---\nname: same\n---\n")
    roster = loaded(place)
    assert roster.profiles["same"].source == str(second)
    assert [str(one) for one in roster.diagnostics] == [
        f"{second}: The agent profile 'same' is also in {first}, which it replaces. Rename one of them."
    ]


def test_the_agent_directory_of_the_project_itself_is_read_once(place):
    write(place / "cwd" / ".pi", "p.md", "---\nname: p\napiKey: k\n---\n")
    roster = load_agents(Place(cwd=place / "cwd", agent_dir=place / "cwd" / ".pi"))
    assert roster.profiles["p"].agent == AgentOptions(api_key="k")
    assert not roster.diagnostics


def test_a_shelf_reads_again_after_five_seconds_or_when_it_is_told(place):
    now = 0
    shelf = AgentRepository(Place(cwd=place / "cwd", agent_dir=place / "agent"), lambda: now)
    assert not shelf.roster().profiles
    write(place / "agent", "p.md", "---\nname: p\n---\n")
    now = 4999
    assert not shelf.roster().profiles
    now = 5000
    assert list(shelf.roster().profiles) == ["p"]
    write(place / "agent", "q.md", "---\nname: q\n---\n")
    assert list(shelf.roster().profiles) == ["p"]
    shelf.refresh()
    assert list(shelf.roster().profiles) == ["p", "q"]


def test_what_takes_long_to_read_is_fresh_when_it_is_there():
    now, reads = 0, 0

    def read() -> int:
        nonlocal now, reads
        now += 60_000
        reads += 1
        return reads

    kept = TimedCache(read, lambda: now)
    assert [kept(), kept()] == [1, 1]
    now += 5000
    assert kept() == 2


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"HOME": "/home/u"}, "/home/u/.pi/agent"),
        ({"HOME": "/home/u", "PI_AGENT_DIR": "~/a"}, "/home/u/a"),
        ({"PI_AGENT_DIR": "/a", "PI_CODING_AGENT_DIR": "/b", "PI_CONFIG_DIR": "/c"}, "/b"),
        ({"PI_CODING_AGENT_DIR": " ", "PI_AGENT_DIR": "/a"}, "/a"),
    ],
)
def test_the_agent_directory_follows_the_agents_own_variables(env, folder):
    assert str(agent_dir(env)) == folder
