"""Files that are not what they should be: one clear sentence each, and the others are read."""

import pytest

pytestmark = pytest.mark.anyio

GOOD = "---\nname: good\ndescription: d\n---\nWork."
BAD = GOOD.replace("good", "bad")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "Just text.",
            "1: The agent file is left out: it has no front matter. Begin the file with '---', the keys, and",
        ),
        ("---\nname: a\n---\nX", "1: The agent file is left out: it has no description. A caller chooses by it: add"),
        ("---\nname: a\ndescription: d\n---\n", "1: The agent file is left out: it has no prompt. Write the agent's"),
        ("---\nname: '+'\ndescription: d\n---\nX", "2: The agent file is left out: it has '+' as its name. Allowed: "),
        (
            BAD.replace(": d\n", ": d\nmaxTurns: lots\n"),
            "4: The agent file is left out: it has 'lots' as 'maxTurns'. It has",
        ),
        (
            BAD.replace(": d\n", ": d\nmaxTurn: 3\n"),
            "4: 'maxTurn' is no known key of this format, and is ignored. Did you mean",
        ),
        (
            BAD.replace(": d\n", ": d\ntools: 7\n"),
            "4: 'tools' is 7, but has to be a list of tools: the agent gets no tool.",
        ),
        (
            BAD.replace(": d\n", ": d\nisolation: worktree\n"),
            "4: The agent file is left out: it has 'worktree' as 'isolation'. It restrains",
        ),
        (
            BAD.replace(": d\n", ": d\ncwd: /srv\n"),
            "4: The agent file is left out: it has '/srv' as 'cwd'. It restrains the agent, and has no effect here.",
        ),
        ("---\n" + "# note\n" * 4000 + "---\nX", "The agent file is left out: it has more than 16384 bytes of keys."),
        ("---\nkey: " + "x" * 2**21 + "\n---\nX", "it cannot be read (it is larger than 1048576 bytes)."),
        ("\0\x01---", "1: The agent file is left out: it has no front matter."),
    ],
    ids=str,
)
async def test_a_bad_file_is_one_sentence_and_the_others_are_read(desk, text, sentence):
    desk.write(".claude/agents/bad.md", text, user=True)
    desk.write(".claude/agents/good.md", GOOD, user=True)
    agents, diagnostics = await desk.read("claude")
    assert "good" in agents
    (found,) = [one for one in diagnostics if "bad.md" in one]
    assert sentence in found


async def test_a_bad_toml_file_is_one_sentence(desk):
    file = desk.write(".codex/agents/a.toml", 'name = "a\n', user=True)
    deep = desk.write(".codex/agents/b.toml", f"name = {'[' * 50_000}", user=True)
    _, diagnostics = await desk.read("codex")
    assert diagnostics == [
        f"{file}:1: The agent file is left out: it is not valid TOML.",
        f"{deep}:1: The agent file is left out: it is nested too deeply.",
    ]


async def test_gemini_refuses_a_file_with_an_unknown_key_and_so_do_we(desk):
    file = desk.write(".gemini/agents/a.md", "---\nname: a\ndescription: d\ntool: [read_file]\n---\nX", user=True)
    agents, diagnostics = await desk.read("gemini")
    assert agents == {}
    assert diagnostics == [
        f"{file}:4: The agent file is left out: it has the unknown key 'tool'. Did you mean 'tools'."
    ]


async def test_a_readme_among_the_agents_is_no_agent_and_a_link_to_a_folder_is_not_followed(desk):
    desk.write(".claude/agents/README.md", "# Our agents", user=True)
    desk.write("elsewhere/a.md", GOOD, user=True)
    (desk.home / ".claude/agents/link").symlink_to(desk.home / "elsewhere")
    assert await desk.read("claude") == ({}, [])


async def test_a_long_description_with_examples_is_cut_to_its_beginning(desk):
    file = desk.write(
        ".claude/agents/a.md",
        "---\nname: a\ndescription: |-\n  Use it for tests.\n  <example>user: hi</example>\n---\nX",
        user=True,
    )
    agents, diagnostics = await desk.read("claude")
    assert agents["a"].summary == "Use it for tests."
    assert diagnostics == [f"{file}:3: 'description' is cut to its beginning of 17 characters."]
