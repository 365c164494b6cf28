"""Agent profiles in use: who is found, what refuses a call or an item, what the backend then gets."""

from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from surface import item, mounted

from ohm_subagents import Ohm
from ohm_subagents.contract import ErrorCode, OhmError, Start, Task
from ohm_subagents.contract.profile import CHILD_TOOLS
from ohm_subagents.plugin import Decision, ModelChoice, hookimpl
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """One loop is enough: the rows differ in files alone."""
    return "asyncio"


SCRIPTED = {"subagentBackend": "scripted"}
GONE = {"resume": "gone"}


class Place:
    """An agent directory and a project, with an `Ohm` in it."""

    def __init__(self, root):
        self.agent_dir, self.cwd = root / "agent", root / "cwd"
        for folder in (self.agent_dir, self.cwd):
            folder.mkdir()
        self.now = 0

    def agent(self, name, keys="", body="You help.", *, project=False):
        folder = (self.cwd / ".pi" if project else self.agent_dir) / "agent-profiles"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(f"---\nname: {name}\n{keys}\n---\n{body}\n", encoding="utf-8")

    def skill(self, name, body="Do it well."):
        folder = self.agent_dir / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: d\n---\n{body}\n", encoding="utf-8")

    @asynccontextmanager
    async def opened(self, **options):
        env = HERMETIC | {"PI_CODING_AGENT_DIR": str(self.agent_dir)}
        given = {"suites": ["surface", "delegate"], "config": SCRIPTED} | options
        async with mounted(env=env, cwd=self.cwd, clock=lambda: self.now, **given) as surface:
            yield surface

    async def asked(self, *items, **options):
        """Return what came of each item, sub-agents first, and the requests that came of it."""
        async with self.opened(**options) as surface:
            found = await delegated(surface, *(one for one in items if isinstance(one, dict)))
            others = tuple(one for one in items if not isinstance(one, dict))
            if others:
                found += (await surface.engine.execute(Start(items=others))).items
        return found, surface.backend.calls

    async def refusal(self, name, **options):
        (refused,), calls = await self.asked(wanted(name), **options)
        assert not calls
        return refused.error


@dataclass
class Delegated:
    """A sub-agent that was asked for: its task, or its error."""

    task: Task | None = None
    error: OhmError | None = None

    @property
    def kind(self):
        return "accepted" if self.error is None else "refused"


def wanted(profile="", **fields):
    return {"name": "d", "prompt": "p", **({"profile": profile} if profile else {}), **fields}


async def delegated(surface, *tasks):
    if not tasks:
        return []
    told = await surface.ohm.call("delegate_to_subagents", {"tasks": [*tasks]})
    if told.is_error:
        return [Delegated(error=OhmError(code=told.details["errorCode"], message=told.text)) for _ in tasks]
    by_session = {task.session_id: task for task in surface.ohm.store.tasks()}
    kept = [by_session[session] for session in told.details["sessionIds"]]
    return [Delegated(task=task) if task.runs else Delegated(task=task, error=task.error) for task in kept]


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


# Who is found


async def test_an_agent_profiles_own_words_are_the_whole_instructions(place):
    place.agent("Reviewer", "model: acme/big:high", "You review.")
    (accepted,), (request,) = await place.asked(wanted("Reviewer"))
    assert (accepted.task.assignment.profile, accepted.task.assignment.name) == ("Reviewer", "Reviewer")
    assert request.instructions == "You review."
    assert str(request.model) == "acme/big:high"


async def test_without_a_name_it_is_a_sub_agent_without_wishes(place):
    (accepted,), (request,) = await place.asked(wanted())
    assert (accepted.task.assignment.profile, accepted.task.assignment.name) == ("delegate", "Sub-agent")
    assert (request.instructions, request.model) == ("", None)
    assert "bash" in request.tools


async def test_names_are_told_apart_by_case_and_an_unknown_one_costs_its_item_alone(place):
    place.agent("writer")
    place.agent("Reviewer")
    (unknown, known), calls = await place.asked(wanted("reviewer"), wanted("Reviewer"))
    assert unknown.error.code == ErrorCode.UNKNOWN_SUBAGENT_TYPE
    assert unknown.error.message == 'Unknown profile: "reviewer". Available profiles: Reviewer, writer'
    assert unknown.error.advice == "Did you mean 'Reviewer'?"
    assert known.kind == "accepted"
    assert len(calls) == 1


async def test_where_there_are_no_agent_profiles_that_is_said(place):
    assert str(await place.refusal("x")) == 'Unknown profile: "x". Available profiles: (none)'


async def test_the_two_catalogues_do_not_mix(place):
    place.agent("finder", "tools: read", "I am another.")
    (first, second), (one, other) = await place.asked(wanted("finder"), item(profile="finder"))
    assert (first.kind, second.kind) == ("accepted", "accepted")
    assert (one.instructions, one.tools) == ("I am another.", ("read",))
    assert other.instructions.startswith("You are Finder, a subagent")
    assert "grep" in other.tools


async def test_a_file_that_is_changed_counts_once_what_was_read_is_old(place):
    place.agent("p", body="Before.")
    async with place.opened() as surface:
        for now in (0, 4999, 5000):
            place.now = now
            await delegated(surface, wanted("p"))
            place.agent("p", body="After.")
    assert [request.instructions for request in surface.backend.calls] == ["Before.", "Before.", "After."]


async def test_permissions_hold_for_agent_profiles_as_well(place):
    place.agent("p")
    config = {"subagents": {"permissions": {"subagents": {"p": "deny"}}}}
    assert (await place.refusal("p", config={"subagentBackend": "scripted", **config})).code == "task_permission_denied"


async def test_rules_and_settings_of_agent_profiles_are_not_said_to_be_of_nobody(place):
    place.agent("Secret")
    rules = {"secret": "deny", "delegate": "allow", "secert": "deny"}
    own = {"Secret": {"model": "a/b"}, "delegate": {"model": "a/b"}, "Secrets": {"model": "a/b"}}
    config = {"subagentBackend": "none", "subagents": {"permissions": {"subagents": rules}, "profiles": own}}
    env = HERMETIC | {"PI_CODING_AGENT_DIR": str(place.agent_dir)}
    async with Ohm.open(cwd=place.cwd, env=env, config=config) as ohm:
        told = [str(one).partition(" Available:")[0] for one in ohm.diagnostics]
    assert told == [
        "config: the rule for 'secert' names no subagent. Did you mean 'Secret'?",
        "config: the settings for 'secrets' name no subagent. Did you mean 'Secret'?",
    ]


async def test_a_plugin_is_asked_about_an_agent_profile_with_the_tools_it_would_get(place):
    place.agent("p", "excludeTools: bash")
    heard = []

    class Rule:
        @hookimpl
        def ohm_permission(self, request):
            heard.append((request.profile.id, request.tools))
            return Decision(verdict="allow", source="rule")

    await place.asked(wanted("p"), plugins=[Rule()], host=MemoryHost(tools=("write", "bash", "read")))
    assert heard == [("p", ("write", "read"))]


# Tools


@pytest.mark.parametrize(
    ("keys", "tools"),
    [
        ("noTools: true\ntools: read", ()),
        ("tools: grep, Read, web_search", ("grep", "read", "web_search")),
        ("excludeTools: [bash, delegate_to_subagents]", ("web_search", "read")),
    ],
)
async def test_tools_keep_their_order_and_names_that_only_the_agent_knows(place, keys, tools):
    place.agent("p", keys)
    host = MemoryHost(tools=("web_search", "bash", "delegate_to_subagents", "read"))
    _, (request,) = await place.asked(wanted("p"), host=host)
    assert request.tools == tools


async def test_without_a_host_excluded_tools_are_taken_from_ours(place):
    place.agent("p", "excludeTools: bash, write")
    _, (request,) = await place.asked(wanted("p"))
    assert request.tools == ("read", "edit", "grep", "find", "ls", "code_search")


async def test_a_host_that_raises_costs_nothing(place):
    class Broken(MemoryHost):
        def active_tools(self):
            msg = "gone"
            raise RuntimeError(msg)

    place.agent("p", "excludeTools: bash")
    _, (request,) = await place.asked(wanted("p"), host=Broken())
    assert "read" in request.tools
    assert "bash" not in request.tools


@pytest.mark.parametrize(
    ("named", "tools"),
    [
        (["read", 7, None, "bash", "todo"], ("read", "todo")),
        ([7], tuple(tool for tool in CHILD_TOOLS if tool != "bash")),
        ("read", tuple(tool for tool in CHILD_TOOLS if tool != "bash")),
        (None, tuple(tool for tool in CHILD_TOOLS if tool != "bash")),
    ],
)
async def test_what_a_host_gives_that_is_no_name_counts_for_nothing(place, named, tools):
    class Careless(MemoryHost):
        def active_tools(self):
            return named

    place.agent("p", "excludeTools: bash")
    _, (request,) = await place.asked(wanted("p"), host=Careless())
    assert request.tools == tools


async def test_what_ohm_json_denies_an_agent_profile_does_not_get(place):
    place.agent("p", "tools: read, bash, web_search")
    config = {"subagentBackend": "scripted", "subagents": {"p": {"tools": {"deny": ["bash", "web_search"]}}}}
    _, (request,) = await place.asked(wanted("p"), config=config)
    assert request.tools == ("read",)


async def test_settings_that_widen_a_built_in_do_not_widen_its_namesake(place):
    place.agent("finder", "noTools: true")
    config = {"subagentBackend": "scripted", "subagents": {"finder": {"tools": {"allow": ["bash"]}}}}
    _, (one, other) = await place.asked(wanted("finder"), item(profile="finder"), config=config)
    assert (one.tools, other.tools) == ((), ("bash",))


@pytest.mark.parametrize(
    ("tools", "are_bounded"), [({}, False), ({"deny": ["deploy"]}, True), ({"allow": [*CHILD_TOOLS]}, True)]
)
async def test_a_backend_with_tools_of_its_own_is_told_whether_there_is_any_rule(place, tools, are_bounded):
    place.agent("p")
    config = {"subagentBackend": "scripted", "subagents": {"p": {"tools": tools}}}
    (accepted,), (request,) = await place.asked(wanted("p"), config=config)
    assert (request.tools, request.tools_are_bounded) == (CHILD_TOOLS, are_bounded)
    assert not accepted.task.diagnostics


# Skills


async def test_skills_are_found_for_a_profile_that_names_them(place):
    place.skill("tidy")
    place.skill("test", "Test first.")
    place.agent("p", "suggestedSkills: tidy\nloadSkills: test\nappendSystemPrompt: Be brief.")
    _, (request,) = await place.asked(wanted("p"))
    agent = request.profile.agent
    assert agent.skill_paths == (str(place.agent_dir / "skills" / "tidy" / "SKILL.md"),)
    assert agent.appended_prompt == 'Be brief.\n\n<loaded_skill name="test">\nTest first.\n</loaded_skill>'
    assert request.instructions.startswith("You help.")


async def test_an_unknown_skill_costs_its_item_alone(place):
    place.skill("tidy")
    place.agent("p", "suggestedSkills: zzz")
    place.agent("q")
    (refused, accepted), calls = await place.asked(wanted("p"), wanted("q"))
    assert refused.error.code == ErrorCode.UNKNOWN_SKILLS
    assert str(refused.error) == 'Unknown skills: "zzz". Available skills: tidy'
    assert accepted.kind == "accepted"
    assert len(calls) == 1


# What may refuse a whole call, in its order


async def test_of_several_objections_the_earlier_check_is_told(place):
    checks = []
    for keys, fields in (
        (
            "tools: read\nexcludeTools: bash\nnoSkills: true\nloadSkills: x\nextraArgs: --tools",
            GONE,
        ),
        ("tools: read\nnoSkills: true\nloadSkills: x\nextraArgs: --tools", GONE),
        ("tools: read\nloadSkills: x\nextraArgs: --tools", GONE | {"cwd": str(place.cwd / "..")}),
        ("tools: read\nloadSkills: x\nextraArgs: --tools", {"cwd": str(place.cwd / "..")}),
        ("tools: read\nloadSkills: x\nextraArgs: --tools", {}),
        ("tools: read\nloadSkills: x", {}),
    ):
        place.agent("p", keys)
        (refused,), _ = await place.asked(wanted("p", **fields))
        checks.append(refused.error.code)
    assert checks == [
        ErrorCode.PROFILE_TOOLS_CONFLICT,
        ErrorCode.PROFILE_SKILLS_CONFLICT,
        ErrorCode.SESSION_NOT_FOUND,
        ErrorCode.CWD_INVALID,
        ErrorCode.PROFILE_ARGUMENT_REFUSED,
        ErrorCode.UNKNOWN_SKILLS,
    ]


async def test_an_objection_stands_also_where_the_profile_is_unknown(place):
    (refused,), _ = await place.asked(wanted("nobody", **GONE))
    assert refused.error.code == ErrorCode.SESSION_NOT_FOUND


async def test_a_conflict_is_told_in_the_words_of_the_document(place):
    place.agent("p", "tools: read\nexcludeTools: bash")
    assert str(await place.refusal("p")) == (
        'Profile "p" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
        "These are mutually exclusive — choose one or the other."
    )


async def test_an_argument_that_would_undo_the_restrictions_is_refused(place):
    place.agent("p", "noTools: true\nextraArgs: --verbose, -t=x")
    assert str(await place.refusal("p")) == (
        'Refusing extraArg "-t=x" which would override profile tool restrictions. '
        "Use the dedicated profile fields instead."
    )


# Models


async def test_a_common_model_does_not_stand_above_one_that_only_the_agent_can_complete(place):
    place.agent("p", "model: big")
    place.agent("q")
    config = {"subagentBackend": "scripted", "subagents": {"model": "acme/common"}}
    _, (one, other) = await place.asked(wanted("p"), wanted("q"), config=config)
    assert one.model is None
    assert one.profile.agent.model == "big"
    assert str(other.model) == "acme/common"


# Files


async def test_files_that_cannot_be_used_are_diagnostics(place):
    place.agent("p", "thinkingLevel: extreme")
    (place.agent_dir / "settings.json").write_text("{")
    async with place.opened() as surface:
        told = [str(one) for one in surface.ohm.diagnostics]
    assert any("agent-profiles/p.md:3: 'thinkingLevel' is 'extreme'" in one for one in told)
    assert any("settings.json" in one and one.endswith("It counts as empty.") for one in told)


# As a subagent of `task`


def offered(chosen):
    return {"subagentBackend": "scripted", "subagents": {"agentProfiles": chosen}}


async def test_an_agent_profile_is_a_subagent_unless_the_user_chooses_others(place):
    place.agent("Reviewer")
    (accepted,), _ = await place.asked(item(profile="reviewer"))
    assert accepted.task.assignment.profile == "Reviewer"
    for chosen in (False, ["other"]):
        (refused,), _ = await place.asked(item(profile="reviewer"), config=offered(chosen))
        assert refused.error.code == ErrorCode.UNKNOWN_SUBAGENT_TYPE


async def test_an_agent_profile_takes_the_place_of_another_profile_only_where_it_is_chosen(place):
    place.agent("finder", "tools: read", "You find.")
    place.agent("model", "tools: read", "Its name is a key of ohm.json.")
    for chosen, is_replaced in ((None, False), (True, True), (["finder"], True)):
        config = {"subagentBackend": "scripted", "subagents": {"agentProfiles": chosen} if chosen else {}}
        async with place.opened(config=config) as surface:
            (finder,) = (one for one in surface.ohm.profiles if one.id == "finder")
            assert (finder.prompt == "You find.") is is_replaced
            told = [str(one) for one in surface.ohm.diagnostics]
            assert any("the id 'model' is reserved" in one for one in told) is (chosen is True)


@pytest.mark.parametrize("chosen", [True, ["Reviewer"], "Reviewer"])
async def test_an_agent_profile_works_as_a_subagent_where_it_is_chosen(place, chosen):
    place.agent("Reviewer", "tools: read", "You review.")
    place.agent("writer")
    async with place.opened(config=offered(chosen)) as surface:
        (accepted,) = (await surface.engine.execute(Start(items=(item(profile=" reviewer"),)))).items
        roster = {one.id: one.summary for one in surface.ohm.profiles}
    (request,) = surface.backend.calls
    assert accepted.task.assignment.profile == "Reviewer"
    assert (request.instructions, request.tools) == ("You review.", ("read",))
    assert roster["Reviewer"] == "profile: Reviewer, custom-system-prompt, tools=[read]"
    assert ("writer" in roster) is (chosen is True)


async def test_its_own_rules_hold_for_it_as_a_subagent_too(place):
    place.agent("p", "tools: read\nexcludeTools: bash")
    place.agent("q", "loadSkills: x")
    (first, second), _ = await place.asked(item(profile="p"), item(profile="q"), config=offered(chosen=True))
    assert first.error.code == ErrorCode.PROFILE_TOOLS_CONFLICT
    assert second.error.code == ErrorCode.UNKNOWN_SKILLS


async def test_a_name_that_no_agent_profile_has_is_a_diagnostic(place):
    place.agent("Reviewer")
    async with place.opened(config=offered(["reviewer"])) as surface:
        assert [str(one) for one in surface.ohm.diagnostics] == [
            "config: 'subagents.agentProfiles' names 'reviewer', which is no agent profile. "
            "Did you mean 'Reviewer'? Available: Reviewer."
        ]


async def test_a_model_that_names_no_provider_is_said_to_be_that(place):
    place.agent("p", "model: gpt5")
    async with place.opened() as surface:
        (profile,) = (one for one in surface.ohm.profiles if one.id == "p")
    error = ModelChoice((), {}).choose(None, profile).err_value
    assert str(error).startswith('The model "gpt5" of subagent "p" names no provider. Expected \'<provider>/<model>\'')


async def test_a_project_cannot_choose_them(place):
    place.agent("p")
    (place.cwd / ".pi").mkdir()
    (place.cwd / ".pi" / "ohm.json").write_text('{"subagents": {"agentProfiles": true}}')
    (place.agent_dir / "ohm.json").write_text('{"subagents": {"agentProfiles": false}}')
    env = HERMETIC | {"PI_CODING_AGENT_DIR": str(place.agent_dir), "PI_CONFIG_DIR": str(place.agent_dir)}
    async with Ohm.open(cwd=place.cwd, env=env) as ohm:
        assert "p" not in [one.id for one in ohm.profiles]
        assert "'subagents.agentProfiles' cannot be set by a project" in str(ohm.diagnostics[0])
