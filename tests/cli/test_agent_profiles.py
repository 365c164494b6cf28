"""`ohm profiles` and `ohm profile`: what there is, what is wrong with it, and a file for another one."""

import pytest

from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.profile import ToolPolicy
from ohm_subagents.suites.delegate.agents import parse_agent_profile


@pytest.fixture
def folders(ohm):
    return {
        "mine": ohm.root / "home" / ".pi" / "agent" / "agent-profiles",
        "project": ohm.root / "project" / ".pi" / "agent-profiles",
    }


def write(folder, name, keys="", body=""):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(f"---\nname: {name}\n{keys}\n---\n{body}", encoding="utf-8")
    return path


def parsed(path):
    file = parse_agent_profile(path.read_text(encoding="utf-8"), source="", is_local=False)
    assert not file.diagnostics
    return file.profile


def test_profiles_are_listed_with_their_files_and_what_they_replace(ohm, folders):
    mine = write(folders["mine"], "p", "model: acme/big")
    theirs = write(folders["project"], "p", "tools: read")
    other = write(folders["mine"], "Another")
    done = ohm("profiles")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "profile: Another",
        f"  {other} (yours)",
        "profile: p, model=acme/big, tools=[read]",  # which a project does not change before it is trusted
        f"  {theirs} (the project's)",
        f"  replaces {mine}",
    ]
    assert done.stderr == ""


def test_what_is_wrong_with_a_file_is_told_with_its_line_here_and_by_the_doctor(ohm, folders):
    path = write(folders["mine"], "p", "thinkingLevel: extreme")
    left_out = write(folders["mine"], "my profile")
    listed, doctor = ohm("profiles"), ohm("doctor")
    assert listed.returncode == 0
    assert listed.stdout.splitlines()[0] == "profile: p"
    assert f"warning: {path}:3: 'thinkingLevel' is 'extreme'" in listed.stderr
    assert f"error: {left_out}:2: The agent profile is left out: it has the name 'my profile'." in listed.stderr
    assert f"{path}:3: 'thinkingLevel' is 'extreme'" in doctor.stdout
    assert f"{left_out}:2: The agent profile is left out" in doctor.stdout
    assert doctor.returncode == 1


def test_without_profiles_both_places_are_named(ohm, folders):
    done = ohm("profiles")
    assert done.returncode == 0
    assert str(folders["mine"]) in done.stdout
    assert str(folders["project"]) in done.stdout


def test_one_profile_is_shown_whole_but_for_its_key(ohm, folders):
    path = write(
        folders["mine"],
        "p",
        "provider: acme\nmodel: big\nthinkingLevel: high\napiKey: sk-1234567890\ntools: read, bash\n"
        "noExtensions: true\nextraArgs: --verbose\nappendSystemPrompt: Be brief.",
        "You help.",
    )
    done = ohm("profile", "p")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "Agent profile: p",
        f"source: {path} (yours)",
        "available: yes",
        "subagent of task: yes (default)",
        "provider: acme",
        "model: big",
        "thinkingLevel: high",
        "apiKey: sk-1****7890",
        "tools: read, bash",
        "noExtensions: true",
        "extraArgs: --verbose",
        "",
        "System prompt:",
        "You help.",
        "",
        "Appended system prompt:",
        "Be brief.",
    ]


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ("tools: a\nexcludeTools: b", 'Profile "p" has both "tools" (allowlist)'),
        ("extraArgs: a;b", "Refusing extraArg: potentially unsafe argument 'a;b'"),
        ("loadSkills: x", 'Unknown skills: "x". Available skills: (none)'),
    ],
)
def test_a_profile_that_would_be_refused_says_why(ohm, folders, keys, why):
    write(folders["mine"], "p", keys)
    assert f"available: no ({why}" in ohm("profile", "p").stdout
    assert f"  not available: {why}" in ohm("profiles").stdout


def test_a_profile_that_is_a_subagent_says_who_made_it_one(ohm, folders):
    write(folders["mine"], "p")
    path = ohm.configure('{\n"subagentBackend": "none", "suites": ["task"],\n"subagents": {"agentProfiles": ["p"]}}')
    assert f"subagent of task: yes ({path}:3)" in ohm("profile", "p").stdout
    assert "- p (p): profile: p [available · task-routed]" in ohm("subagents").stdout


def test_of_a_name_that_there_is_not_the_others_are_told(ohm, folders):
    write(folders["mine"], "p")
    done = ohm("profile", "q")
    assert done.returncode == 2
    assert done.stderr == 'Unknown profile: "q". Available profiles: p\n'
    write(folders["mine"], "reviewer")
    assert ohm("profile", "reviewr").stderr.endswith("\nDid you mean 'reviewer'?\n")


def test_where_there_is_no_agent_profile_the_command_for_the_other_profiles_is_named(ohm):
    assert ohm("profiles").stdout.endswith("are in 'ohm subagents'.\n")


def test_a_new_file_says_what_was_typed(ohm, folders):
    typed = {
        "--prompt": "You review: 'carefully'.\n---\nAnd again.",
        "--append": "a: b\n\n---\nc",
        "--provider": "acme",
        "--model": "big:v1",
        "--thinking": "off",
        "--tools": "read, bash",
        "--extensions": "a.js,b.js",
        "--skills": "tidy",
        "--load-skills": "test",
        "--extra-args": "--verbose",
    }
    done = ohm("profile", "new", "Re_view-er", "--no-context-files", *(part for pair in typed.items() for part in pair))
    path = folders["mine"] / "Re_view-er.md"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Wrote the agent profile 'Re_view-er' to {path}.\n"
    assert path.stat().st_mode & 0o077 == 0, "a key may be put into it"
    profile = parsed(path)
    assert profile.name == "Re_view-er"
    assert profile.prompt == typed["--prompt"]
    assert profile.tools == ToolPolicy(allowed=("read", "bash"))
    assert profile.agent == AgentOptions(
        provider="acme",
        model="big:v1",
        thinking="off",
        appended_prompt=typed["--append"],
        extensions=("a.js", "b.js"),
        suggested_skills=("tidy",),
        load_skills=("test",),
        no_context_files=True,
        extra_args=("--verbose",),
    )
    assert ohm("profile", "Re_view-er").returncode == 0


@pytest.mark.parametrize("value", ["5", "true", "null", "2024-01-01", "~", "[a]", "a: b", "ünïcödé 🙂", " x "])
def test_what_is_typed_stays_a_text(ohm, folders, value):
    assert ohm("profile", "new", "p", "--prompt", "You help.", "--model", value).returncode == 0
    assert parsed(folders["mine"] / "p.md").agent.model == value


def test_the_prompt_may_come_from_a_pipe(ohm, folders):
    done = ohm("profile", "new", "p", stdin="You hélp.\n".encode())
    assert done.returncode == 0
    assert parsed(folders["mine"] / "p.md").prompt == "You hélp."


@pytest.mark.parametrize("typed", [(), ("--prompt", ""), ("--prompt", " \n")])
def test_a_profile_without_instructions_is_written_and_said_to_lack_them(ohm, folders, typed):
    done = ohm("profile", "new", "p", *typed)
    assert (done.returncode, parsed(folders["mine"] / "p.md").prompt) == (0, "")
    told = "The profile 'p' has no instructions. Write them into the file, below its second '---'."
    assert done.stderr == f"warning: {told}\n"
    assert ohm("profile", "new", "q", "--append", "Be brief.").stderr == ""


def test_a_prompt_that_is_no_text_is_refused(ohm, folders):
    done = ohm("profile", "new", "p", stdin=b"\xff\xfe")
    assert done.returncode == 2
    assert done.stderr == "The prompt on standard input is not UTF-8 text.\n"
    assert not folders["mine"].exists()


def test_nothing_is_overwritten_but_a_projects_file_stands_above_mine(ohm, folders):
    mine = write(folders["mine"], "p", body="Mine.")
    again = ohm("profile", "new", "p")
    assert again.returncode == 2
    assert again.stderr == f"The agent profile 'p' exists: {mine}. Edit that file, or choose another name.\n"
    project = ohm("profile", "new", "p", "--project", "--prompt", "Theirs.")
    assert project.returncode == 0
    assert project.stdout.splitlines() == [
        f"Wrote the agent profile 'p' to {folders['project'] / 'p.md'}.",
        f"It replaces {mine} here.",
    ]
    assert parsed(mine).prompt == "Mine."


def test_a_file_of_that_name_with_another_profile_in_it_stays(ohm, folders):
    folders["mine"].mkdir(parents=True)
    path = folders["mine"] / "p.md"
    path.write_text("Notes.")
    done = ohm("profile", "new", "p")
    assert done.returncode == 2
    assert f"The file '{path}' exists. Choose another name.\n" in done.stderr
    assert path.read_text() == "Notes."


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (
            ["my profile"],
            "'name' is 'my profile', but has to be a text of letters, digits, '-' and '_'; it is refused.",
        ),
        (["../p"], "'name' is '../p', but has to be a text of letters, digits, '-' and '_'; it is refused."),
        (["p", "--thinking", "x"], "'thinkingLevel' is 'x', but has to be one of 'off', 'minimal', 'low', 'medium', "),
        (["p", "--tools", "a", "--exclude-tools", "b"], 'Profile "p" has both "tools" (allowlist) and "excludeTools"'),
        (["p", "--no-skills", "--skills", "a"], 'Profile "p" has both "suggestedSkills" and "noSkills" set.'),
        (["p", "--no-tools", "--extra-args", "-t"], 'Refusing extraArg "-t" which would override'),
    ],
)
def test_what_nobody_could_use_is_refused_in_one_sentence(ohm, folders, typed, sentence):
    done = ohm("profile", "new", *typed)
    assert done.returncode == 2
    assert done.stderr.startswith(sentence)
    assert len(done.stderr.splitlines()) == 1
    assert not folders["mine"].exists()


def test_a_place_that_cannot_be_written_is_one_sentence(ohm):
    (ohm.root / "home" / ".pi").write_text("a file")
    done = ohm("profile", "new", "p")
    assert done.returncode == 1
    assert done.stderr.startswith("The agent profile cannot be written to '")
    assert len(done.stderr.splitlines()) == 1


def test_a_new_profile_runs_at_once_here_and_in_a_project(ohm, folders):
    ohm("profile", "new", "mine", "--prompt", "You help.")
    ohm("profile", "new", "theirs", "--project", "--prompt", "You help.")
    for name in ("mine", "theirs"):
        done = ohm("run", name, "hello")
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"subagent: {name}")
    assert done.stderr.count("does not get the tools 'bash', ") == 1


@pytest.mark.parametrize(
    ("typed", "warning"),
    [
        (["p", "--model", "gpt5"], "The model 'gpt5' names no provider. Expected '<provider>/<model>'"),
        (["p", "--model", "acme/big"], "No plugin offers the provider of 'acme/big'. Available: "),
        (
            ["p", "--tools", "read,reed"],
            "The profile names 'reed', which is no tool of a subagent and is left out. Did you mean 'read'? Available:",
        ),
        (["finder"], "Only delegate_to_subagents runs it, and `ohm run` does not: another profile has its name."),
    ],
)
def test_what_would_not_work_of_a_new_profile_is_said_and_the_file_written(ohm, folders, typed, warning):
    ohm.configure({})
    done = ohm("profile", "new", *typed, "--prompt", "You help.")
    assert done.returncode == 0
    assert done.stderr.startswith(f"warning: {warning}")
    assert len(done.stderr.splitlines()) == 1
    assert (folders["mine"] / f"{typed[0]}.md").is_file()


def test_a_subagent_that_is_no_agent_profile_is_shown_by_another_command(ohm) -> None:
    done = ohm("profile", "oracle")
    assert done.returncode == 2
    assert done.stderr.endswith(
        "'oracle' is a subagent of task and ohm run, and no agent profile: see it by 'ohm subagent oracle', "
        "run it by 'ohm run oracle', or write a profile of that name by 'ohm profile new oracle'.\n"
    )
