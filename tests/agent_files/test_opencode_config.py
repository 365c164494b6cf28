"""Agents that are entries of `opencode.json`."""

import json

import pytest

from ohm_subagents.contract import ModelPattern

pytestmark = pytest.mark.anyio
REVIEWER = {
    "description": "Reviews.",
    "mode": "subagent",
    "prompt": "Review.",
    "tools": {"write": False, "bash": False},
}


def config(agents, **common):
    return "// ours\n" + json.dumps({"$schema": "https://x", **common, "agent": agents}, indent=1)


async def test_an_entry_is_an_agent(desk):
    desk.write("opencode.json", config({"reviewer": {**REVIEWER, "model": "acme/big", "steps": 4}}))
    agents, said = await desk.read("opencode", trust=True)

    reviewer = agents["reviewer"]
    assert (reviewer.summary, reviewer.prompt) == ("Reviews.", "Review.")
    assert reviewer.model == ModelPattern(provider="acme", model="big")
    assert reviewer.budget is None
    assert {"bash", "write"} <= set(reviewer.tools.denied)
    assert said == []


async def test_a_prompt_may_be_a_file_of_the_project(desk):
    desk.write(".opencode/opencode.jsonc", config({"reviewer": {**REVIEWER, "prompt": "{file:../prompts/review.txt}"}}))
    desk.write("prompts/review.txt", "From a file.")
    agents, _ = await desk.read("opencode")

    assert agents["reviewer"].prompt == "From a file."


@pytest.mark.parametrize("path", ["{file:../outside.txt}", "{file:~/.netrc}", "{file:/etc/hostname}"])
async def test_a_prompt_outside_of_the_project_is_not_read(desk, path):
    (desk.cwd.parent / "outside.txt").write_text("secret")
    desk.write("opencode.json", config({"reviewer": {**REVIEWER, "prompt": path}}))
    agents, (said,) = await desk.read("opencode", trust=True)

    assert agents == {}
    assert "opencode.json:5: The agent file is left out: it has its prompt outside of the project (" in said


async def test_a_user_has_prompts_anywhere(desk):
    desk.write("mine.txt", "Mine.", user=True)
    desk.write(
        ".config/opencode/opencode.json", config({"mine": {**REVIEWER, "prompt": "{file:../../mine.txt}"}}), user=True
    )
    agents, _ = await desk.read("opencode")

    assert agents["mine"].prompt == "Mine."


async def test_what_the_file_denies_all_agents_is_denied_where_an_entry_says_nothing_else(desk):
    common = {"permission": {"edit": "deny", "bash": "deny"}}
    agents = {
        "silent": {"description": "d", "prompt": "p"},
        "open": {"description": "d", "prompt": "p", "permission": {"edit": "allow", "bash": {"git *": "allow"}}},
    }
    desk.write("opencode.json", config(agents, **common))
    read, _ = await desk.read("opencode", trust=True)

    assert {"bash", "edit", "write"} <= set(read["silent"].tools.denied)
    assert "bash" in read["open"].tools.denied
    assert "edit" not in read["open"].tools.denied


async def test_an_agent_of_a_project_without_trust_reads(desk):
    desk.write("opencode.json", config({"maker": {"description": "d", "prompt": "p", "model": "acme/big"}}))
    agents, _ = await desk.read("opencode")

    assert agents["maker"].model is None
    assert not {"bash", "edit", "write"} & set(agents["maker"].tools.allowed)


async def test_changes_of_the_programs_own_agents_and_agents_for_people_are_passed_over(desk):
    agents = {
        "build": {"model": "acme/big"},
        "boss": {**REVIEWER, "mode": "primary"},
        "off": {**REVIEWER, "disable": True},
    }
    desk.write("opencode.json", config(agents))

    assert await desk.read("opencode") == ({}, [])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "opencode.json: The agent file is left out: it cannot be read (Cannot read the configuration "),
        (config({"a": {"prompt": "p"}}), "opencode.json:5: The agent file is left out: it has no description."),
        (config({"a": {"description": "d"}}), "opencode.json:5: The agent file is left out: it has no prompt."),
        (config({"a": {**REVIEWER, "prompt": "{file:gone.md}"}}), "gone.md', which cannot be read ("),
        (
            config({"a": {**REVIEWER, "prompt": "Key {env:K}"}}),
            "has a part of its prompt elsewhere ('{file:…}', '{env:…}')",
        ),
    ],
)
async def test_an_entry_that_is_no_agent_costs_one_sentence(desk, text, sentence):
    desk.write("opencode.json", text)
    agents, (said,) = await desk.read("opencode")

    assert agents == {}
    assert sentence in said
