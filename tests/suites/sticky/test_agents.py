"""Prompt files of 003: which is an agent, which is rejected, and which of two stands."""

import pytest

from ohm_subagents.contract import Err
from ohm_subagents.suite import Place
from ohm_subagents.suites.sticky.agents import load_agents, parse_prompt


def parsed(*lines, stem="scout"):
    return parse_prompt("\n".join(["---", *lines, "---", "x"]), source=f"{stem}.md", stem=stem, is_local=True)


def test_lists_are_merged_in_their_order_and_may_be_texts():
    _, agent = parsed("approved_tools: read, bash", "allowed_tools: [bash, ls]")

    assert agent.unwrap().tools.allowed == ("read", "bash", "ls")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["name: a", "allowed_tools: [read]", "denied_tools:"], ["'a'", "allowed_tools", "denied_tools"]),
        (["name: ../evil"], ["../evil"]),
        (["name: 3"], ["has the name 3"]),
        (["denied_tools: {a: 1}"], ["denied_tools", "a list of names"]),
        (["denied_tools: [1]"], ["denied_tools", "a list of names"]),
        (["name: [a"], ["not valid YAML"]),
    ],
)
def test_what_is_ambiguous_or_unsafe_is_rejected_with_the_reason(lines, said):
    _, agent = parsed(*lines)

    assert isinstance(agent, Err)
    assert all(part in agent.err_value.message for part in said), agent.err_value.message


@pytest.mark.parametrize("text", ["# Notes\n", "-----\n# Notes\n", "---\nname: a rule that nothing closes\n"])
def test_a_file_without_front_matter_is_no_agent(text):
    assert parse_prompt(text, source="README.md", stem="README", is_local=True) is None


@pytest.mark.parametrize("text", ["---\n---\nYou plan.", "---\n# no key yet\n---\nYou plan.\n"])
def test_front_matter_without_any_key_is_an_agent_of_the_files_name(text):
    name, agent = parse_prompt(text, source="planner.md", stem="planner", is_local=True)

    assert (name, agent.unwrap().name, agent.unwrap().prompt) == ("planner", "planner", "You plan.")


def test_an_agent_is_the_projects_only_in_a_folder_of_the_project(tmp_path):
    project, users = tmp_path / "project", tmp_path / "mine"
    for folder in (project / "prompts", project / "more", users):
        folder.mkdir(parents=True)
        (folder / f"{folder.name}.md").write_text("---\ndescription: x\n---\nx")

    found = load_agents(Place(cwd=project), [project / "more", users]).by_name

    of_a_project = {name: found[name].unwrap().agent.is_local for name in ("scout", "prompts", "more", "mine")}
    assert of_a_project == {"scout": False, "prompts": True, "more": True, "mine": False}


def test_the_later_folder_stands(tmp_path):
    for name, text in {"prompts": "first", "more": "second"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "scout.md").write_text(f"---\ndescription: {text}\n---\nx")

    shipped, own, more = (
        load_agents(Place(cwd=tmp_path / "nowhere")).by_name,
        load_agents(Place(cwd=tmp_path)).by_name,
        load_agents(Place(cwd=tmp_path), [tmp_path / "more"]).by_name,
    )
    assert [one["scout"].unwrap().summary for one in (shipped, own, more)] == [
        "Fast codebase reconnaissance",
        "first",
        "second",
    ]
    assert shipped["scout"].unwrap().finalize == "required"
