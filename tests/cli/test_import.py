"""`ohm profiles import`: agents of other programs, written as profiles of ours."""

from ohm_subagents._profiles.markdown import parse_profile
from ohm_subagents.contract import Budget, CallRules, ToolPolicy

AGENT = """---
name: reviewer
description: Reviews: all of it.
tools: Read, Bash(git:*)
model: sonnet
maxTurns: 4
---
Review.
"""


def written(root, folder):
    (root / folder).mkdir(parents=True)
    (root / folder / "reviewer.md").write_text(AGENT)


def test_the_agents_of_a_project_become_profiles_of_the_project(ohm):
    written(ohm.root / "project", ".claude/agents")
    done = ohm("profiles", "import", "--from", ".claude")
    path = ohm.root / "project/.pi/subagents/reviewer.md"
    assert done.returncode == 0
    assert done.stdout == f"Wrote the profile 'reviewer' to {path}.\n"
    profile = parse_profile(path.read_text(), source="", stem="").unwrap().profile
    tools = ToolPolicy(allowed=("read", "bash"), call_rules=(CallRules(allow=("git *",)),))
    assert (profile.tools, profile.budget) == (tools, Budget(requests=4))
    again = ohm("profiles", "import", "--from", ".claude")
    assert again.returncode == 1
    assert f"The file '{path}' exists. Remove it to import 'reviewer' again." in again.stderr


def test_the_users_agents_become_the_users_profiles(ohm):
    written(ohm.root / "home", ".claude/agents")
    done = ohm("profiles", "import", "--from", str(ohm.root / "home/.claude"))
    assert done.returncode == 0
    assert str(ohm.root / "project") not in done.stdout
    (path,) = ohm.root.rglob("subagents/reviewer.md")
    assert "bash: git *" in path.read_text()
    assert "- Reviewer (reviewer)" in ohm("subagents").stdout.replace("- reviewer (", "- Reviewer (")


def test_a_directory_of_no_known_program_is_refused(ohm):
    (ohm.project / ".cloud").mkdir()
    done = ohm("profiles", "import", "--from", ".cloud")
    assert done.returncode == 2
    assert "'.cloud' is nothing of a known program. Expected one of .claude, .opencode, .codex," in done.stderr


def test_the_list_of_agent_profiles_names_the_command_below_it(ohm):
    assert "profiles import" in ohm("profiles", "--help").stdout
    assert "profiles.import" not in ohm("--help").stdout


def test_a_warning_that_the_roster_has_given_is_not_given_again(ohm):
    written(ohm.root / "project", ".claude/agents")
    ohm.configure({"subagents": {"agentFiles": True}})
    assert ohm("profiles", "import", "--from", ".claude").stderr.count("does not get the tool 'bash'") == 1


def test_a_directory_that_is_not_there_is_told_as_that(ohm):
    done = ohm("profiles", "import", "--from", "/nowhere/.claude")
    assert (done.returncode, done.stderr) == (2, "'/nowhere/.claude' does not exist.\n")
