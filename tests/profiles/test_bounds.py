"""The text of somebody else is bounded before it is parsed, and takes no more than in proportion to read."""

import json
import sys

import pytest

from ohm_subagents._config.load import load_config
from ohm_subagents._profiles.documents import MAX_ENTRIES, MAX_FILES, MAX_FRONT_MATTER
from ohm_subagents._profiles.yaml_text import MAX_DEPTH, parse_yaml
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.suite import Place
from ohm_subagents.suites.delegate.agents import load_agents
from ohm_subagents.suites.delegate.skills import MAX_SKILLS, discover


def calls(work):
    """Return how many Python functions something takes: the same on any machine, however busy."""
    count = 0

    def counted(_frame, event, _argument):
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("opening", ["[", "{", "[{", "a: [", '"[" [', "- ["])
def test_brackets_that_are_nested_too_deeply_are_not_parsed(opening):
    text = "x: " + opening * 2000
    assert isinstance(parse_yaml(text), Err)
    assert calls(lambda: parse_yaml(text)) < 10_000
    assert isinstance(parse_yaml(f"x: {'[' * MAX_DEPTH}{']' * MAX_DEPTH}"), Ok)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "entry", [{"model": "a/b"}, {"tools": ["read"]}, {"limits": {"softMs": 5}}, {"primary": True}, {}, 5]
)
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("few", [100, pytest.param(200, marks=pytest.mark.slow)])
def test_twice_the_entries_of_ohm_json_take_twice_the_work(tmp_path, entry, long, few):
    def loaded(count):
        entries = {f"Agent{number}": entry for number in range(count)}
        path = tmp_path / ".pi" / "ohm.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"subagents": {"profiles": entries} if long else entries}))
        return calls(lambda: load_config(cwd=tmp_path, config=None, env={"PI_CONFIG_DIR": "/dev/null"}))

    loaded(2 * few)  # what is read twice is remembered, and what never changes is made once
    assert loaded(2 * few) < 2.5 * loaded(few)


def test_an_ohm_json_with_more_than_anybody_writes_is_not_read(tmp_path):
    (tmp_path / ".pi").mkdir()
    (tmp_path / ".pi" / "ohm.json").write_text(json.dumps({"subagents": {f"a{n}": {} for n in range(10_000)}}))
    loaded = load_config(cwd=tmp_path, config=None, env={"PI_CONFIG_DIR": "/dev/null"})
    assert "more than 20000" in str(loaded.err_value)


def test_of_a_folder_with_many_files_some_are_read_and_that_is_told(tmp_path):
    folder = tmp_path / ".pi" / "agent-profiles"
    folder.mkdir(parents=True)
    for number in range(MAX_FILES + 20):
        (folder / f"{number:04}.md").write_text(f"---\nname: p{number}\n---\n")
    roster = load_agents(Place(cwd=tmp_path, agent_dir=tmp_path / "none"))
    assert len(roster.profiles) == MAX_FILES
    assert f"more than {MAX_FILES} such files" in str(roster.diagnostics[0])


@pytest.mark.parametrize("more", [0, 1])
def test_of_a_folder_with_many_other_files_that_is_told_once_it_is_too_many(tmp_path, more):
    folder = tmp_path / ".pi" / "agent-profiles"
    folder.mkdir(parents=True)
    for number in range(MAX_ENTRIES + more):
        (folder / f"{number}.txt").touch()
    roster = load_agents(Place(cwd=tmp_path, agent_dir=tmp_path / "none"))
    assert [f"or {MAX_ENTRIES} files in all" in str(told) for told in roster.diagnostics] == [True] * more


def test_the_keys_of_a_folders_files_are_bounded_together(tmp_path):
    folder = tmp_path / ".pi" / "agent-profiles"
    folder.mkdir(parents=True)
    for number in range(40):
        (folder / f"{number:04}.md").write_text(f"---\nname: p{number}\n#{'x' * 10_000}\n---\n")
    roster = load_agents(Place(cwd=tmp_path, agent_dir=tmp_path / "none"))
    assert len(roster.profiles) == MAX_FRONT_MATTER // 10_011
    assert "more than" in str(roster.diagnostics[-1])


@pytest.mark.slow
def test_skills_are_bounded_too(tmp_path):
    for number in range(MAX_SKILLS + 5):
        folder = tmp_path / "skills" / f"{number:04}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("---\ndescription: D.\n---\n")
    assert len(discover(agent_dir=tmp_path, cwd=tmp_path / "cwd").known) == MAX_SKILLS
