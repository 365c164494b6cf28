"""The call of `pi` for a profile of 000."""

from dataclasses import replace
from pathlib import Path

import pytest
from pi_streams import pattern, request
from run_requests import changed

from ohm_subagents.backends.pi.agent_flags import agent_flags
from ohm_subagents.backends.pi.flags import TOOLS, agent_tools, arguments, left_out, write_instructions
from ohm_subagents.backends.pi.probe import PiVersion
from ohm_subagents.contract import AgentOptions, Profile, ToolPolicy
from ohm_subagents.contract.profile import CHILD_TOOLS
from ohm_subagents.plugin import Exchange, Tool, ToolResult
from ohm_subagents.shell.dialect import Invocation

NEW = PiVersion(version=(1, 5, 2), text="1.5.2", flags=frozenset({"--no-mcp", "--no-approve", "--tools"}))
EVERYTHING = AgentOptions(
    provider="anthropic",
    model="sonnet",
    thinking="high",
    appended_prompt="And be brief.",
    api_key="sk-very-secret",
    no_extensions=True,
    extensions=("a.ts", "b.ts"),
    no_skills=True,
    skill_paths=("/s/one.md", "/s/two/SKILL.md"),
    suggested_skills=("one", "two"),
    no_context_files=True,
    extra_args=("--verbose", "-x"),
)
EVERY_FLAG = (
    *("--provider", "anthropic", "--model", "sonnet"),
    *("--system-prompt", "Be kind.", "--append-system-prompt", "And be brief."),
    *("--thinking", "high", "--tools", "read,ls"),
    *("--no-extensions", "--extension", "a.ts", "--extension", "b.ts"),
    *("--no-skills", "--skill", "/s/one.md", "--skill", "/s/two/SKILL.md"),
    *("--no-context-files", "--verbose", "-x"),
)


def profile(agent: AgentOptions | None = None, **changes) -> Profile:
    given = {"id": "Writer", "name": "Writer", "summary": "Writes.", "prompt": ""}
    return Profile(**{**given, **changes}, agent=agent or AgentOptions())


def run_of(folder: Path, agent=None, *, prompt="", policy=None, own=None, **changes) -> Invocation:
    who = profile(agent, prompt=prompt, tools=policy or ToolPolicy(), model=own)
    given = {"tools": CHILD_TOOLS, "tools_are_bounded": False, "is_one_shot": True, "cwd": folder, **changes}
    return Invocation(request=request(profile=who, **given), folder=folder)


def test_every_field_has_its_flag_in_the_order_of_the_document():
    assert agent_flags(profile(EVERYTHING, prompt="Be kind."), tools=("read", "ls")) == EVERY_FLAG


def test_a_profile_that_says_nothing_has_no_flags():
    assert agent_flags(profile(), tools=None) == ()


def test_no_tools_is_a_flag_of_its_own():
    assert agent_flags(profile(), tools=()) == ("--no-tools",)


def test_a_model_of_the_call_stands_in_place_of_provider_model_and_thinking():
    flags = agent_flags(profile(EVERYTHING), tools=None, model=pattern("acme/m1"))

    assert flags[:2] == ("--model", "acme/m1")
    assert {"--provider", "--thinking", "sonnet"}.isdisjoint(flags)


def test_the_thinking_of_a_profile_without_a_model_goes_with_the_model_that_somebody_else_chose():
    thinks = profile(AgentOptions(thinking="high"))

    assert agent_flags(thinks, tools=None, model=pattern("acme/m1")) == ("--model", "acme/m1", "--thinking", "high")
    with_level = replace(pattern("acme/m1"), thinking="low")
    assert agent_flags(thinks, tools=None, model=with_level) == ("--model", "acme/m1:low")


def test_a_run_of_a_batch_is_called_as_the_document_says(tmp_path):
    assert arguments(NEW, run_of(tmp_path), "json") == (
        *("--mode", "json", "-p", "--no-session"),
        *("--no-approve", "--no-mcp"),
    )


def test_a_model_that_the_profile_chose_is_written_as_its_file_writes_it(tmp_path):
    agent = AgentOptions(provider="Acme", model="m1", thinking="low")
    own = replace(pattern("acme/m1"), thinking="low")

    assert arguments(NEW, run_of(tmp_path, agent, own=own, model=own), "json")[6:] == (
        *("--provider", "Acme", "--model", "m1", "--thinking", "low"),
    )
    other = arguments(NEW, run_of(tmp_path, agent, own=own, model=pattern("acme/m2")), "json")
    assert other[6:] == ("--model", "acme/m2")


@pytest.mark.parametrize(
    ("mode", "changes"),
    [
        ("rpc", {}),
        ("json", {"is_one_shot": False}),
        ("json", {"checkpoint": "{}"}),
        ("json", {"history": (Exchange(prompt="a", output="b"),)}),
    ],
)
def test_what_may_be_continued_or_continues_keeps_its_session(tmp_path, mode, changes):
    called = arguments(NEW, run_of(tmp_path, **changes), mode)

    assert "--no-session" not in called
    assert called[called.index("--session") + 1] == f"{tmp_path}/session.jsonl"


@pytest.mark.parametrize(
    ("policy", "given", "flags"),
    [
        (ToolPolicy(), CHILD_TOOLS, TOOLS),
        (ToolPolicy(), (*CHILD_TOOLS, "paint"), (*TOOLS, "paint")),
        (ToolPolicy(), ("read", "ls", "code_search"), ("read", "ls")),
        (ToolPolicy(denied=("bash",)), ("read", "ls", "code_search"), ("read", "ls")),
        (ToolPolicy(allowed=("ls", "todo", "read")), ("read", "ls", "todo"), ("ls", "todo", "read")),
        (ToolPolicy(allowed=("ls", "code_search")), ("ls", "code_search"), ("ls", "code_search")),
        (ToolPolicy(allowed=()), (), ()),
        (ToolPolicy(allowed=("read",)), ("read", "bash"), ("read", "bash")),
    ],
    ids=["all", "all-with-plugins", "rules", "denied", "listed", "search", "none", "widened"],
)
def test_the_tools_are_restricted_where_somebody_does_and_only_there(tmp_path, policy, given, flags):
    run = run_of(tmp_path, policy=policy, tools=given, tools_are_bounded=True)
    assert agent_tools(run.request) == flags
    assert agent_tools(changed(run.request, tools_are_bounded=False)) is None


def test_a_prompt_that_no_argument_can_hold_is_in_a_file(tmp_path):
    long, named = "x" * 120_000, "notes.md"
    (tmp_path / named).write_text("what is in it")
    run = run_of(tmp_path, AgentOptions(appended_prompt=named), prompt=long)
    write_instructions(run)
    called = arguments(NEW, run, "json")

    assert called[6:] == (
        *("--system-prompt", f"{tmp_path}/instructions.md"),
        *("--append-system-prompt", f"{tmp_path}/appended.md"),
    )
    assert (tmp_path / "instructions.md").read_text() == long
    assert (tmp_path / "appended.md").read_text() == named


def extended(folder, agent=None):
    """A request for the tool `todo` where the user has an extension."""
    (folder / "home" / "extensions").mkdir(parents=True, exist_ok=True)
    (folder / "home" / "extensions" / "todo.ts").touch()
    env = {"PI_CODING_AGENT_DIR": str(folder / "home")}
    return run_of(folder, agent, policy=ToolPolicy(allowed=("todo",)), tools=("todo",), env=env).request


def test_a_tool_that_only_an_extension_may_bring_is_told_as_uncertain_and_not_as_missing(tmp_path):
    [told] = left_out(extended(tmp_path))
    assert told.diagnostic.message.startswith('Only an extension of pi could bring the tool "todo"')

    [told] = left_out(extended(tmp_path, AgentOptions(no_extensions=True)))
    assert 'no tool "todo"' in told.diagnostic.message


@pytest.mark.parametrize(("only_if_named", "said"), [(True, "Only an extension"), (False, 'pi has no tool "todo"')])
def test_a_tool_of_ours_is_missing_unless_an_extension_may_bring_one_of_its_name(tmp_path, only_if_named, said):
    async def execute(call):
        return ToolResult(text="", details={})

    tool = Tool(
        name="todo",
        label="",
        description="",
        input_schema={},
        execute=execute,
        call_view=lambda _arguments, _theme: "",
        only_if_named=only_if_named,
    )
    [told] = left_out(changed(extended(tmp_path), child_tools=(tool,)))
    assert said in told.diagnostic.message


# Agents of 001


def of_task(folder: Path, prompt: str) -> Invocation:
    agent = AgentOptions(model="sonnet", has_task_argument=True, provider="ignored")
    run = run_of(
        folder,
        agent,
        prompt="You explore.",
        policy=ToolPolicy(allowed=("read", "lsp")),
        tools=("read", "lsp"),
        tools_are_bounded=True,
    )
    return replace(run, request=replace(run.request, prompt=prompt))


def test_the_command_line_of_a_task_is_the_documented_one(tmp_path):
    run = of_task(tmp_path, "Find it")
    write_instructions(run)
    assert arguments(PiVersion(version=(0, 74, 2), text="0.74.2"), run, "json") == (
        *("--mode", "json", "--session", str(tmp_path / "session.jsonl")),
        *("--model", "sonnet", "--tools", "read,lsp"),
        *("--system-prompt", str(tmp_path / "instructions.md")),
        "Task: Find it",
    )
    assert (tmp_path / "instructions.md").read_text() == "You explore."


@pytest.mark.parametrize(("prompt", "in_file"), [("t" * 8000, False), ("t" * 8001, True), ("a\0b", True)])
def test_a_task_that_is_no_argument_is_a_file(tmp_path, prompt, in_file):
    run = of_task(tmp_path, prompt)
    write_instructions(run)
    last = arguments(NEW, run, "json")[-1]
    assert last == (f"@{tmp_path / 'task.md'}" if in_file else f"Task: {prompt}")
    assert (tmp_path / "task.md").exists() is in_file
    assert not in_file or (tmp_path / "task.md").read_text() == f"Task: {prompt}"


def test_where_a_session_goes_on_the_task_is_no_argument(tmp_path):
    assert "Task: Find it" not in arguments(NEW, of_task(tmp_path, "Find it"), "rpc")
