"""Skills: where they are found, and what a profile makes of them."""

from pathlib import Path

import pytest

from ohm_subagents._config.trust import trust_everything
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.files import MAX_FRONT_MATTER
from ohm_subagents.suites.delegate.skills import discover, equipped


class Place:
    def __init__(self, root: Path):
        self.agent_dir = root / "agent"
        self.cwd = root / "cwd"

    def write(self, path: str, text: str) -> Path:
        file = self.agent_dir.parent / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def skill(self, path: str, name: str, body: str = "") -> Path:
        return self.write(path, f"---\nname: {name}\ndescription: Does things.\n---\n{body}")

    def found(self) -> list[str]:
        return list(discover(agent_dir=self.agent_dir, cwd=self.cwd, trusts=trust_everything).known)

    def equipped(self, **agent):
        skills = discover(agent_dir=self.agent_dir, cwd=self.cwd, trusts=trust_everything)
        profile = Profile(id="p", name="p", summary="", prompt="", agent=AgentOptions(**agent))
        return equipped(profile, skills, cwd=self.cwd, agent_dir=self.agent_dir)

    def agent(self, **agent) -> AgentOptions:
        match self.equipped(**agent):
            case Ok(profile):
                return profile.agent
            case Err(error):
                raise AssertionError(error)

    def error(self, **agent):
        match self.equipped(**agent):
            case Err(error):
                return error
            case Ok(profile):
                raise AssertionError(profile)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_an_entry_that_the_system_refuses_to_look_at_costs_itself_only(place):
    place.skill("agent/skills/direct.md", "direct")
    (place.agent_dir / "skills" / "endless").symlink_to("x" * 300)
    assert place.found() == ["direct"]


def test_markdown_files_directly_inside_and_skill_files_at_any_depth_are_skills(place):
    place.skill("agent/skills/direct.md", "direct")
    place.skill("agent/skills/a/b/c/SKILL.md", "deep")
    place.skill("agent/skills/a/other.md", "no")
    place.skill("agent/skills/.hidden/SKILL.md", "no")
    place.skill("agent/skills/node_modules/x/SKILL.md", "no")
    place.skill("cwd/.pi/skills/local/SKILL.md", "local")
    assert sorted(place.found()) == ["deep", "direct", "local"]


def test_the_keys_of_all_skills_of_a_place_are_bounded_together(place):
    for number in range(40):
        text = f"---\nname: s{number:02}\ndescription: Does things.\n#{'x' * 10_000}\n---\n"
        place.write(f"agent/skills/{number:02}.md", text)
    assert place.found() == [f"s{number:02}" for number in range(MAX_FRONT_MATTER // 10_041)]


def test_a_directory_that_is_a_link_in_circles_costs_only_itself(place):
    place.skill("agent/skills/tidy/SKILL.md", "tidy")
    place.write("cwd/.pi/x", "")
    for link in (place.cwd / ".pi" / "skills", place.agent_dir / "skills" / "loop"):
        link.symlink_to(link.name)
    (place.agent_dir / "skills" / "tidy" / "again").symlink_to("..")
    assert place.found() == ["tidy"]


def test_a_skill_without_a_name_is_called_like_its_directory(place):
    place.write("agent/skills/tidy/SKILL.md", "---\ndescription: Tidies.\n---\n")
    assert place.found() == ["tidy"]


@pytest.mark.parametrize(
    "text",
    ["---\nname: x\n---\nBody", "---\nname: x\ndescription: ' '\n---\n", "Body", "---\nname: [\n---\n", "\0"],
)
def test_without_a_description_nothing_is_a_skill(place, text):
    place.write("agent/skills/x/SKILL.md", text)
    assert place.found() == []


def test_of_two_skills_with_one_name_the_users_stays(place):
    first = place.skill("agent/skills/x/SKILL.md", "same")
    place.skill("cwd/.pi/skills/x/SKILL.md", "same")
    assert place.agent(suggested_skills=("same",)).skill_paths == (str(first),)


def test_links_are_followed_and_a_circle_of_them_ends(place):
    place.skill("elsewhere/tidy/SKILL.md", "tidy")
    skills = place.agent_dir / "skills"
    skills.mkdir(parents=True)
    (skills / "linked").symlink_to(place.agent_dir.parent / "elsewhere")
    (skills / "around").symlink_to(skills)
    assert place.found() == ["tidy"]
    path = place.agent(suggested_skills=("tidy",)).skill_paths
    assert path == (str(skills / "linked" / "tidy" / "SKILL.md"),)


def test_suggested_skills_become_their_files_in_the_order_of_the_profile(place):
    a = place.skill("agent/skills/a/SKILL.md", "a")
    b = place.skill("cwd/.pi/skills/b.md", "b")
    agent = place.agent(suggested_skills=("b", "a"))
    assert agent.skill_paths == (str(b), str(a))
    assert [(one.name, one.description, one.path) for one in agent.skills] == [
        ("b", "Does things.", str(b)),
        ("a", "Does things.", str(a)),
    ]


def test_loaded_skills_follow_the_appended_prompt_and_empty_ones_are_left_out(place):
    place.skill("agent/skills/a/SKILL.md", "a", "\nAlpha.\n\n")
    place.skill("agent/skills/b/SKILL.md", "b", "Beta.")
    place.skill("agent/skills/c/SKILL.md", "c")
    agent = place.agent(appended_prompt="Be brief.", load_skills=("b", "c", "a"))
    assert agent.appended_prompt == (
        'Be brief.\n\n<loaded_skill name="b">\nBeta.\n</loaded_skill>'
        '\n\n<loaded_skill name="a">\nAlpha.\n</loaded_skill>'
    )
    assert place.agent(load_skills=("a",)).appended_prompt == '<loaded_skill name="a">\nAlpha.\n</loaded_skill>'


def test_a_profile_without_skills_stays_as_it_is(place):
    assert place.agent(appended_prompt="x") == AgentOptions(appended_prompt="x")


def test_unknown_skills_are_named_with_those_that_there_are(place):
    place.skill("agent/skills/b/SKILL.md", "b")
    place.skill("agent/skills/a/SKILL.md", "a")
    error = place.error(suggested_skills=("x", "a"), load_skills=("y",))
    assert error.code == ErrorCode.UNKNOWN_SKILLS
    assert error.message == 'Unknown skills: "x", "y". Available skills: a, b'


def test_where_there_are_no_skills_at_all_that_is_said(place):
    assert place.error(load_skills=("x",)).message == 'Unknown skills: "x". Available skills: (none)'


@pytest.mark.parametrize("path", ["/etc/passwd", "../x/SKILL.md"])
def test_a_file_outside_of_both_places_is_refused(place, path):
    error = place.error(skill_paths=(path,))
    assert error.code == ErrorCode.PROFILE_ARGUMENT_REFUSED
    assert error.message == f"Refusing skill path outside allowed directories: {path}"


def test_a_file_within_either_place_is_taken(place):
    within = (str(place.agent_dir / "x.md"), "skills/y.md")
    assert place.agent(skill_paths=within).skill_paths == within
