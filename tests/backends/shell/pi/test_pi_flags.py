"""The call of `pi`: by the options that the installed release knows."""

from dataclasses import replace

import pytest
from fake_engine import FakeGate
from pi_streams import pattern, request

from ohm_subagents.backends.pi.call_gate import unasked, ungated
from ohm_subagents.backends.pi.flags import arguments, left_out, session_file, write_instructions
from ohm_subagents.backends.pi.options import BACKEND_ID
from ohm_subagents.backends.pi.probe import PiVersion
from ohm_subagents.contract import AgentOptions, Profile, ToolPolicy
from ohm_subagents.plugin import CallRules
from ohm_subagents.shell.dialect import Invocation

OLD = PiVersion(version=(0, 74, 2), text="0.74.2", flags=frozenset({"--no-extensions", "--tools"}))
NEW = PiVersion(version=(1, 5, 2), text="1.5.2", flags=frozenset({"--no-mcp", "--no-approve", "--tools"}))
QUIET = ["--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes"]


def test_an_old_release_gets_no_flag_that_it_does_not_know(tmp_path):
    run = Invocation(request=request(tools=("read", "ls", "code_search")), folder=tmp_path)

    assert list(arguments(OLD, run, "json")) == [
        *("--mode", "json", "--session", f"{tmp_path}/session.jsonl"),
        *("--system-prompt", f"{tmp_path}/instructions.md", "--tools", "read,ls", *QUIET),
    ]


def test_a_new_release_is_kept_from_the_project_s_own_code_and_from_other_servers(tmp_path):
    run = Invocation(request=request(model=pattern("openai/gpt-6")), folder=tmp_path)

    assert list(arguments(NEW, run, "rpc")) == [
        *("--mode", "rpc", "--session", str(session_file(tmp_path))),
        *("--system-prompt", f"{tmp_path}/instructions.md", "--model", "openai/gpt-6", "--no-tools", *QUIET),
        *("--no-approve", "--no-mcp"),
    ]


@pytest.mark.parametrize("thinking", ["off", "high"])
def test_a_thinking_level_is_passed_on_with_the_model(tmp_path, thinking):
    model = replace(pattern("openai/gpt-6"), thinking=thinking)
    run = Invocation(request=request(model=model), folder=tmp_path)

    assert f"openai/gpt-6:{thinking}" in arguments(NEW, run, "json")


def test_the_instructions_are_in_the_file_that_the_command_line_names(tmp_path):
    run = Invocation(request=request(instructions="Be kind.\n"), folder=tmp_path)
    write_instructions(run)
    words = arguments(NEW, run, "json")

    assert (tmp_path / words[words.index("--system-prompt") + 1]).read_text() == "Be kind.\n"


def test_without_instructions_pi_has_its_own_and_there_is_no_file(tmp_path):
    run = Invocation(request=request(instructions=""), folder=tmp_path)
    write_instructions(run)

    assert "--system-prompt" not in arguments(NEW, run, "json")
    assert list(tmp_path.iterdir()) == []


def test_a_tool_that_pi_has_not_is_told_except_for_code_search():
    [told] = left_out(request(tools=("read", "code_search", "paint")))

    assert told.diagnostic.message == 'pi has no tool "paint"; the subagent works without it.'
    assert list(left_out(request(tools=("read", "code_search")))) == []


def test_that_an_agent_goes_without_the_code_search_that_its_file_names_is_told(tmp_path):
    def told(allowed):
        profile = Profile(
            id="a", name="a", summary="", prompt="", agent=AgentOptions(), tools=ToolPolicy(allowed=allowed)
        )
        asked = request(tools=("read", "code_search"), profile=profile, env={}, cwd=tmp_path)
        return [one.diagnostic.message for one in left_out(asked)]

    assert told(("read", "code_search")) == ['pi has no tool "code_search"; the subagent works without it.']
    assert told(None) == []


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("home/extensions/web.ts", ""),
        ("home/settings.json", '{"packages": ["npm:web"]}'),
        ("home/settings.json", '{"extensions": ["web.ts"]}'),
        ("project/.pi/extensions/web.ts", ""),
    ],
)
def test_of_an_agent_a_tool_is_told_too_unless_some_extension_may_bring_it(tmp_path, place, content):
    def told(agent):
        profile = Profile(id="a", name="a", summary="", prompt="", agent=agent)
        env = {"PI_CODING_AGENT_DIR": str(tmp_path / "home")}
        return [*left_out(request(tools=("read", "lsp"), profile=profile, env=env, cwd=tmp_path / "project"))]

    assert [one.diagnostic.message for one in told(AgentOptions())] == [
        'pi has no tool "lsp"; the subagent works without it.'
    ]
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_text(content)
    assert told(AgentOptions()) == []
    assert len(told(AgentOptions(no_extensions=True))) == 1
    assert told(AgentOptions(no_extensions=True, extensions=("lsp.ts",))) == []


@pytest.mark.parametrize(
    ("version", "mode", "why"),
    [(NEW, "auto", ""), (NEW, "rpc", ""), (OLD, "auto", "pi 0.74.2 is too old"), (NEW, "json", 'kept in mode "json"')],
)
def test_rules_that_somebody_has_written_need_a_pi_that_can_be_asked(version, mode, why):
    given = {"gate": FakeGate(), "tools": ("bash",)}
    ruled = request(call_rules=(CallRules(ask=("git push *",)),), **given)
    built_in = request(call_rules=(CallRules(ask=("git push *",), is_default=True),), **given)
    refused = ungated(ruled, version, mode)
    assert ungated(built_in, version, mode) is None
    told = [event.diagnostic.message for event in unasked(built_in, version, mode)]
    assert told == ([f"Calls of 'bash' are not asked about: the backend '{BACKEND_ID}' cannot ask."] if why else [])
    assert (refused is None) == (not why)
    assert why in f"{refused}"


def test_only_a_pi_that_is_asked_loads_the_extension_that_asks(tmp_path):
    ruled = request(call_rules=(CallRules(ask=("git push *",)),), gate=FakeGate())
    run = Invocation(request=ruled, folder=tmp_path)
    write_instructions(run)
    assert str(run.folder / "gate.mjs") in arguments(NEW, run, "rpc")
    assert str(run.folder / "gate.mjs") not in arguments(NEW, run, "json")
    assert "tool_call" in (run.folder / "gate.mjs").read_text()
    assert "gate.mjs" not in " ".join(arguments(NEW, Invocation(request=request(), folder=tmp_path), "rpc"))
