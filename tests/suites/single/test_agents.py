"""The agents of 001: simple lines, three places, the later one stands."""

import pytest

from ohm_subagents._config.trust import trust_everything
from ohm_subagents.suite import Place
from ohm_subagents.suites.single.agents import builtin_agents, load_agents, parse_agent


def parse(text, *, is_local=False):
    return parse_agent(text, source="agents/a.md", is_local=is_local)


def write(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def agent(name, body="b", matter=""):
    return f"---\nname: {name}\n{matter}---\n{body}\n"


def test_a_file_is_read_line_by_line():
    lines = ["---", "name: 'a'", 'description: "Does: things"', "readonly: 1", "tools: read , grep,, read"]
    found = parse("\r\n".join([*lines, "model: openai/x", "---", "Body", ""]))
    assert (found.name, found.summary, found.prompt) == ("a", "Does: things", "Body")
    assert (found.agent.is_readonly, found.tools.allowed, found.agent.model) == (True, ("read", "grep"), "openai/x")


@pytest.mark.parametrize(
    "text",
    ["no fences", "---\nname: a\nno closing marker", "---\ndescription: x\n---\nb", "---\nname:\n---\nb", ""],
)
def test_a_file_without_fences_or_a_name_is_no_agent(text):
    assert parse(text) is None


@pytest.mark.parametrize(
    ("value", "is_readonly"), [("true", True), ("1", True), ("True", False), ("yes", False), ("", False)]
)
def test_readonly_is_only_what_says_so(value, is_readonly):
    assert parse(agent("a", matter=f"readonly: {value}\n")).agent.is_readonly is is_readonly


def test_lists_and_other_fields_mean_nothing_and_without_a_body_the_description_is_the_prompt():
    found = parse(agent("a", "", "description: Looks.\ntools:\n  - bash\npermissions: all\ndisabled: true\n"))
    assert (found.tools.allowed, found.prompt) == (None, "Looks.")


def test_only_a_line_that_begins_with_its_key_counts():
    nested = "more:\n  readonly: false\n\tmodel: y\n name: b\n"
    found = parse(agent("a", matter=f"readonly: true\nmodel: openai/x\n{nested}"))
    assert (found.name, found.agent.is_readonly, found.agent.model) == ("a", True, "openai/x")


def test_five_agents_ship_and_none_of_them_writes():
    found = {one.name: one for one in builtin_agents()}
    assert [*found] == ["explorer", "researcher", "reviewer", "implementer", "tester"]
    assert all(one.agent.is_readonly and one.prompt and one.summary for one in found.values())
    assert found["researcher"].tools.allowed == ("web_search", "fetch_content", "get_search_content")
    assert {found[name].tools.allowed for name in ("explorer", "reviewer", "implementer", "tester")} == {
        ("read", "grep", "find", "ls", "lsp")
    }


def test_a_project_agent_stands_above_the_users_and_that_above_ours(tmp_path):
    home, cwd = tmp_path / "home", tmp_path / "work"
    write(home / "agents", "e.md", agent("explorer", "user"))
    write(home / "agents", "r.md", agent("reviewer", "user"))
    write(home / "agents", "mine.md", agent("mine", "user"))
    write(cwd / ".pi" / "agents", "e.markdown", agent("explorer", "project"))
    write(cwd / ".agents", "unseen.md", agent("unseen"))
    deep = cwd / "a" / "b"
    deep.mkdir(parents=True)
    found = load_agents(Place(cwd=deep, agent_dir=home, trusts=trust_everything)).profiles
    assert [*found] == ["explorer", "researcher", "reviewer", "implementer", "tester", "mine"]
    assert (found["explorer"].prompt, found["reviewer"].prompt) == ("project", "user")
    assert (found["explorer"].agent.is_local, found["reviewer"].agent.is_local) == (True, False)


def test_a_file_that_is_no_agent_is_told(tmp_path):
    write(tmp_path / "agents", "broken.md", "---\ndescription: x\n---\n")
    write(tmp_path / "agents", "notes.txt", "nothing")
    (told,) = load_agents(Place(cwd=tmp_path, agent_dir=tmp_path)).diagnostics
    assert told.subject == "broken"
    assert "name: …" in told.message


def test_a_users_folder_that_goes_in_circles_costs_its_own_agents_only(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "agents").symlink_to("agents")
    write(tmp_path / "work" / ".pi" / "agents", "mine.md", agent("mine"))
    found = load_agents(Place(cwd=tmp_path / "work", agent_dir=tmp_path / "home", trusts=trust_everything))
    assert [*found.profiles][-1] == "mine"
    assert [told.source for told in found.diagnostics] == [str(tmp_path / "home" / "agents")]


def test_a_projects_folder_that_nobody_can_look_at_is_told_and_the_next_one_stands(tmp_path):
    write(tmp_path / ".agents", "mine.md", agent("mine"))
    work = tmp_path / "work"
    work.mkdir()
    (work / ".pi").symlink_to(".pi")
    found = load_agents(Place(cwd=work, agent_dir=tmp_path / "home", trusts=trust_everything))
    assert [*found.profiles][-1] == "mine"
    assert [told.source for told in found.diagnostics] == [str(work / ".pi" / "agents")]


def test_a_folder_that_the_system_refuses_to_look_for_is_no_exception(tmp_path):
    found = load_agents(Place(cwd=tmp_path / ("x" * 300), agent_dir=tmp_path))
    assert [*found.profiles] == [one.name for one in builtin_agents()]
    assert all("is left out" in told.message or "are left out" in told.message for told in found.diagnostics)
    assert len(found.diagnostics) == 2
