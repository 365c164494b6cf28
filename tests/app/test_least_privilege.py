"""A caller who asks for less in unreadable words gets less and is told; so does one who loses a tool to a rule."""

import json
from contextlib import asynccontextmanager

import pytest
from acting import ActingBackend

from ohm_subagents import Ohm
from ohm_subagents.contract.profile import CHILD_TOOLS
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """One loop is enough: the rows differ in rules alone."""
    return "asyncio"


READING = ("read", "grep", "find", "ls")


@pytest.fixture
def place(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@asynccontextmanager
async def opened(place, suite, *, allow_write=True):
    async def act(_request, _sink):
        return "done"

    settings = {"subagents": {"allowWrite": allow_write}}
    write(place / "extensions" / "devkit-pi" / "config.json", json.dumps(settings))
    acting = ActingBackend(act)
    env = HERMETIC | dict.fromkeys(("HOME", "PI_CONFIG_DIR", "PI_CODING_AGENT_DIR"), str(place))
    async with Ohm.open(
        cwd=place / "work", env=env, config={"subagentBackend": "acting"}, suites=[suite], plugins=[acting]
    ) as ohm:
        ohm.acting = acting
        yield ohm


@pytest.mark.parametrize(
    ("matter", "tools", "is_told"),
    [
        ("tools: [read, ls]", ("read", "ls"), False),
        ("tools: [ 'read', \"ls\" ]", ("read", "ls"), False),
        ("tools:\n  - read\n  - ls", ("read", "ls"), False),
        ("tools:\n- read\n- ls\nmodel: a/b", ("read", "ls"), False),
        ("tools: []", (), False),
        ("tools: {read: true}", (), True),
        ("tools:\n  read: true", (), True),
        ("tools: [read", (), True),
        ("tools: |\n  read", (), True),
        ("readonly: yes", READING, True),
        ("readonly: on\ntools: [bash, read]", ("read",), True),
        ("readonly: True", READING, True),
        ("readonly: treu", READING, True),
        ("readonly: no", CHILD_TOOLS, False),
        ("", CHILD_TOOLS, False),
    ],
)
async def test_an_agent_of_single_gets_no_more_than_it_asks_for(place, matter, tools, is_told):
    write(place / "agents" / "a.md", f"---\nname: a\ndescription: D.\n{matter}\n---\nWork.\n")
    async with opened(place, "single") as ohm:
        done = await ohm.call("subagent", {"agent": "a", "task": "Go."})
        (request,) = ohm.acting.requests
        assert sorted(request.tools) == sorted(tools)
        (result,) = done.details["results"]
        assert ("has to be" in str(result.get("notes"))) == is_told
        assert any("has to be" in str(one) for one in ohm.diagnostics) == is_told


async def test_tools_that_a_policy_takes_are_in_the_notes(place):
    write(place / "agents" / "a.md", "---\nname: a\ndescription: D.\ntools: read, write, bash\n---\nWork.\n")
    async with opened(place, "single", allow_write=False) as ohm:
        done = await ohm.call("subagent", {"agent": "a", "task": "Go."})
        assert ohm.acting.requests[0].tools == ("read",)
    (result,) = done.details["results"]
    assert "Not given: 'write', 'bash', because subagents.allowWrite of config.json is false." in result["notes"]


@pytest.mark.parametrize(
    ("matter", "tools"),
    [
        ("noTools: yes", ()),
        ("noTools: 1", ()),
        ("tools: {read: true}", ()),
        ("tools: 5", ()),
        ("excludeTools: {bash: true}", ()),
        ("excludeTools: [{bash: true}]", ()),
        ("noTools: false", CHILD_TOOLS),
    ],
)
async def test_an_agent_profile_gets_no_more_than_it_asks_for(place, matter, tools):
    write(place / "agent-profiles" / "a.md", f"---\nname: a\n{matter}\n---\nWork.\n")
    async with opened(place, "delegate") as ohm:
        call = {"tasks": [{"name": "x", "prompt": "Go.", "profile": "a"}]}
        done = await ohm.call("delegate_to_subagents", call)
        (request,) = ohm.acting.requests
        assert sorted(request.tools) == sorted(tools)
        is_told = tools == ()
        assert ("cannot be read: the profile gets no tool" in str(done.details["windows"][0].get("notes"))) == is_told
        assert any("cannot be read: the profile gets no tool" in str(one) for one in ohm.diagnostics) == is_told


async def test_extensions_that_somebody_meant_to_do_without_are_left_out(place):
    write(place / "agent-profiles" / "a.md", "---\nname: a\nnoExtensions: yes\nnoSkills: 'true'\n---\nWork.\n")
    async with opened(place, "delegate") as ohm:
        await ohm.call("delegate_to_subagents", {"tasks": [{"name": "x", "prompt": "Go.", "profile": "a"}]})
        options = ohm.acting.requests[0].profile.agent
    assert (options.no_extensions, options.no_skills, options.no_context_files) == (True, True, False)


@pytest.mark.parametrize(
    "content",
    [
        b"---\nname: bad\napproved_tools: [read]\ndenied_tools: [bash]\n---\nx",
        b"---\nname: bad\nx: [\n---\nx",
        b"---\nname: bad\n---\n\xff",
    ],
)
async def test_a_rejected_prompt_is_told_and_is_not_available(place, content):
    path = place / "work" / "prompts" / "bad.md"
    path.parent.mkdir()
    path.write_bytes(content)
    async with opened(place, "sticky") as ohm:
        assert any("'bad'" in str(one) and one.severity == "error" for one in ohm.diagnostics)
        done = await ohm.call("subagent", {"agent": "nobody", "task": "Go."})
        assert "Available agents: scout." in done.text
