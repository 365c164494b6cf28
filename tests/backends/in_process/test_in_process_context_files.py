"""`contextFiles`: the project's own words for those who work in it, where the user asks for them."""

from dataclasses import replace

import pytest
from model_server import ModelServer, Say
from subagent_runs import PROFILE, EventLog, acme, opened, request

from ohm_subagents import Ohm
from ohm_subagents.backends.in_process.context_files import MAX_CHARS
from ohm_subagents.contract import AgentOptions, DiagnosticRaised
from ohm_subagents.files import trust_everything, trust_nothing
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio


async def told(cwd, *names, agent=None, tools=("read",), trusts=trust_nothing):
    """The instructions that the model gets, and what is said of the files."""
    log = EventLog()
    async with ModelServer(Say("done")) as server, opened(acme(server), context_files=names, trusts=trusts) as backend:
        await backend.run(request(cwd=cwd, profile=replace(PROFILE, agent=agent), tools=tools), log)
    said = [one.diagnostic.message for one in log.of(DiagnosticRaised) if one.diagnostic.subject == "contextFiles"]
    return server.requests[0].messages[0]["content"], said


async def test_the_nearest_file_of_the_repository_is_part_of_the_instructions(tmp_path):
    inner = tmp_path / "repo" / "src" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("Outside.")
    assert await told(inner, "AGENTS.md") == ("You are the finder.", [])
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "repo" / "AGENTS.md").write_text("Use tabs.\n")
    text, said = await told(inner, "AGENTS.md")
    assert text.endswith('<context_file name="AGENTS.md">\nUse tabs.\n</context_file>')
    assert said == []
    (inner / "CLAUDE.md").write_text("Use spaces.")
    text, _ = await told(inner, "AGENTS.md", "CLAUDE.md")
    assert "Use spaces." in text
    assert "Use tabs." not in text


async def test_none_is_read_unless_it_is_asked_for(tmp_path):
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    assert await told(tmp_path) == ("You are the finder.", [])
    assert await told(tmp_path, "AGENTS.md", agent=AgentOptions(no_context_files=True)) == ("You are the finder.", [])


async def test_a_link_to_elsewhere_and_a_file_that_is_too_long_are_left_out(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "key").write_text("secret")
    file = work / "AGENTS.md"
    file.symlink_to(tmp_path / "key")
    why = "it is a link to another directory"
    assert await told(work, "AGENTS.md") == ("You are the finder.", [f"The context file '{file}' is left out: {why}."])
    file.unlink()
    file.write_text("x" * (MAX_CHARS + 1))
    why = f"it has more than {MAX_CHARS} characters"
    assert await told(work, "AGENTS.md") == ("You are the finder.", [f"The context file '{file}' is left out: {why}."])


async def test_without_trust_it_is_for_subagents_that_only_read(tmp_path):
    file = tmp_path / "AGENTS.md"
    file.write_text("Run make.")
    why = "the subagent does more than read, and the project is not trusted ('ohm trust')"
    text, said = await told(tmp_path, "AGENTS.md", tools=("read", "bash"))
    assert "Run make." not in text
    assert said == [f"The context file '{file}' is left out: {why}."]
    text, _ = await told(tmp_path, "AGENTS.md", tools=("read", "bash"), trusts=trust_everything)
    assert "Run make." in text


async def test_it_is_among_the_files_that_trust_is_about(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("Run make.")
    (tmp_path / "src").mkdir()
    config = {"subagents": {"backends": {"interactive-sdk": {"contextFiles": ["AGENTS.md"]}}}}
    async with Ohm.open(cwd=tmp_path / "src", config=config, env=HERMETIC) as ohm:
        asked = {project.folder: [*files] for project, files in ohm.inspect().trust.asked.items()}
    assert asked == {str(tmp_path): ["AGENTS.md"]}
