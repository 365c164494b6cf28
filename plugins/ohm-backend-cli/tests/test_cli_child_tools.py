"""Child tools on each CLI: a program that speaks MCP stands in for it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from stand_in import MODELS, command_of, does

import ohm_backend_cli
from ohm_subagents import Envelope, Err, Ohm, OhmError, Ok, Result, tool
from ohm_subagents.plugin import CallRules, ErrorCode, Profile, ToolPolicy

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def ohm_on(
    cli: str,
    home: Path,
    *profiles: Profile,
    suites: tuple[str, ...] = (),
    command: tuple[str, ...] = (),
    **env: str,
) -> AbstractAsyncContextManager[Ohm]:
    config = {
        "subagentBackend": cli,
        "subagents": {"model": MODELS[cli], "backends": {cli: {"command": [*(command or command_of(cli))]}}},
    }
    folders = {"PI_CONFIG_DIR": str(home), "HOME": str(home), "PATH": "/usr/bin:/bin"}
    given = {**folders, "OHM_SUBAGENTS_STORE": "memory", **env}
    more: dict[str, Any] = {"suites": suites} if suites else {}
    return Ohm.open(cwd=home, env=given, config=config, profiles=[*profiles], plugins=[ohm_backend_cli], **more)


def profile(**fields: Any) -> Profile:
    return Profile(
        id="worker", name="Worker", summary="Works.", prompt="", tools=ToolPolicy(allowed=("read",)), **fields
    )


@pytest.fixture
def anyio_backend() -> str:
    """A process takes real time."""
    return "asyncio"


def private_files(words: list[str]) -> tuple[int, list[str]]:
    """Those that are named, and those of them that are still there."""
    named = [place for word in words if "/run-" in (place := word.partition("=")[2] or word)]
    return len(named), [place for place in named if Path(place).exists()]


@pytest.mark.anyio
@pytest.mark.parametrize("cli", ["claude", "codex", "opencode", pytest.param("qwen", marks=pytest.mark.slow)])
async def test_a_subagent_calls_a_child_tool_and_hands_in_its_answer(cli: str, tmp_path: Path) -> None:
    final = {"status": "SUCCESS", "result": "Five."}
    prompt = f"{does('CALL', 'add', {'a': 2, 'b': 3})}\n{does('CALL', 'subagent_finalize', final)}"
    async with ohm_on(cli, tmp_path, profile(finalize="required"), HTTP_PROXY="http://127.0.0.1:9") as ohm:
        envelope = (await ohm.run("worker", prompt, tools=[add])).unwrap()

    assert envelope.output == "Five."
    assert envelope.tool_rows == [
        '○ add {"a":2,"b":3}',
        "✓ add 5",
        '○ subagent_finalize {"status":"SUCCESS","result":"Five."}',
        "✓ subagent_finalize The answer is handed in. Call no other tool.",
    ]
    called = json.loads((tmp_path / "call.json").read_text())
    assert called["env"]["NO_PROXY"] == called["env"]["no_proxy"] == "127.0.0.1"
    if cli == "claude":  # which begins without the tools that it has not got to know within 5 s
        assert called["env"]["MCP_CONNECT_TIMEOUT_MS"] == called["env"]["MCP_TIMEOUT"] == "120000"
    assert "Bearer" not in "".join(called["argv"])
    assert private_files([*called["argv"], *called["env"].values()]) == (int(cli in ("claude", "qwen")), [])
    assert [word for word in called["argv"] if called["env"].get("OHM_RUN_TOKEN", "none of it") in word] == []


@pytest.mark.anyio
@pytest.mark.parametrize("cli", ["claude", pytest.param("opencode", marks=pytest.mark.slow)])
async def test_a_call_that_the_agent_itself_refuses_is_told_by_the_agent(cli: str, tmp_path: Path) -> None:
    prompt = f"{does('REFUSE', 'add', {})}\n{does('CALL', 'add', {'a': 1, 'b': 1})}"
    async with ohm_on(cli, tmp_path, profile()) as ohm:
        envelope = (await ohm.run("worker", prompt, tools=[add])).unwrap()

    assert envelope.tool_rows == ["○ add {}", "✕ add not allowed", '○ add {"a":1,"b":1}', "✓ add 2"]


@pytest.mark.anyio
async def test_a_bounded_profile_gets_its_own_child_tools_and_no_others(tmp_path: Path) -> None:
    @tool
    def other() -> str:
        """Belong to another run."""
        return ""

    answers: dict[str, str] = {}

    async with ohm_on("claude", tmp_path, profile()) as ohm, anyio.create_task_group() as group:

        async def ask(name: str, *tools: Any) -> None:
            answers[name] = (await ohm.run("worker", "LIST", tools=[*tools])).unwrap().output or ""

        group.start_soon(ask, "one", add)
        group.start_soon(ask, "two", other)

    assert answers == {"one": "add", "two": "other"}


@pytest.mark.anyio
async def test_a_subagent_keeps_a_todo_list(tmp_path: Path) -> None:
    todos = {"mode": "replace", "todos": [{"text": "Write the schema"}]}
    worker = Profile(
        id="worker", name="Worker", summary="Works.", prompt="", tools=ToolPolicy(allowed=("read", "write_todos"))
    )
    async with ohm_on("claude", tmp_path, worker) as ohm:
        envelope = (await ohm.run("worker", does("CALL", "write_todos", todos))).unwrap()

    assert envelope.diagnostics is None
    assert envelope.tool_rows is not None
    assert envelope.tool_rows[1].startswith("✓ write_todos")


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_agent_that_keeps_its_context_hands_in_each_answer(tmp_path: Path) -> None:
    first = does("CALL", "subagent_finalize", {"status": "SUCCESS", "result": "One."})
    then = does("CALL", "subagent_finalize", {"status": "SUCCESS", "result": "Two."})
    async with ohm_on("claude", tmp_path, suites=("sticky",)) as ohm:
        done = await ohm.call("subagent", {"agent": "scout", "task": first})
        again = {"agent": "scout", "task": then, "sessionId": done.details["sessionId"]}
        more = await ohm.call("subagent", again)

    assert [each.details["finalized"] for each in (done, more)] == [
        {"status": "SUCCESS", "result": "One."},
        {"status": "SUCCESS", "result": "Two."},
    ]
    assert more.details["resumed"] is True
    assert "s-1" in json.loads((tmp_path / "call.json").read_text())["argv"]


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_subagent_that_repeats_a_call_is_stopped(tmp_path: Path) -> None:
    prompt = "\n".join([does("CALL", "add", {"a": 2, "b": 3})] * 40 + ["HANG"])
    async with ohm_on("claude", tmp_path, profile()) as ohm:
        error = (await ohm.run("worker", prompt, tools=[add])).unwrap_err()

    assert error.code == ErrorCode.LOOP_DETECTED


@pytest.mark.anyio
async def test_a_cancelled_task_ends_the_calls_of_its_child_tools(tmp_path: Path) -> None:
    begun, ended = anyio.Event(), anyio.Event()

    @tool
    async def waits() -> str:
        """Wait."""
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return ""

    async with ohm_on("claude", tmp_path, profile()) as ohm:
        handle = await ohm.start("worker", does("CALL", "waits", {}), tools=[waits])
        await begun.wait()
        await handle.cancel()
        error = (await handle.wait()).unwrap_err()
        assert ended.is_set()

    assert error.code == ErrorCode.TASK_ABORTED


def test_on_trio_a_run_goes_without_child_tools_and_says_so(tmp_path: Path) -> None:
    async def main() -> tuple[Result[Envelope, OhmError], Result[Envelope, OhmError]]:
        async with ohm_on("claude", tmp_path, profile()) as ohm:
            return await ohm.run("worker", "Work.", tools=[add]), await ohm.run(profile(finalize="required"), "Work.")

    plain, demanding = anyio.run(main, backend="trio")
    assert isinstance(plain, Ok)
    told = " ".join(plain.ok_value.diagnostics or ())
    assert "Tools reach an agent outside of this process on asyncio only." in told
    assert "claude cannot be given tools of plugins, so the subagent does without add." in told
    assert isinstance(demanding, Err)
    assert demanding.err_value.code == ErrorCode.EVENT_LOOP_UNSUPPORTED


RULED = Profile(
    id="ruled",
    name="Ruled",
    summary="Runs.",
    prompt="",
    tools=ToolPolicy(allowed=("bash",), call_rules=(CallRules(deny=("rm *",), source="ruled.md"),)),
)


@pytest.mark.anyio
async def test_claude_asks_before_a_command_and_another_cli_says_that_it_cannot(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.touch()
    async with ohm_on("claude", tmp_path, RULED) as ohm:
        envelope = (await ohm.run("ruled", f"SHELL rm {kept}\nSHELL touch made")).unwrap()
    async with ohm_on("codex", tmp_path, RULED) as ohm:
        refused = (await ohm.run("ruled", "SHELL touch made")).unwrap_err()
    assert kept.exists()
    assert (tmp_path / "made").exists()
    assert [row.split(" ")[0] for row in envelope.tool_rows or ()] == ["○", "✕", "○", "✓"]
    assert refused.code == ErrorCode.TOOLS_UNSUPPORTED
    assert refused.message.startswith("Backend 'codex' cannot keep the rules of profile 'ruled'")


@pytest.mark.anyio
async def test_a_call_that_claude_gives_up_is_not_asked_about_any_more(tmp_path: Path) -> None:
    asking = Profile(
        id="asking",
        name="Asking",
        summary="Asks.",
        prompt="",
        tools=ToolPolicy(allowed=("bash",), call_rules=(CallRules(ask=("*",), source="a rule"),)),
    )
    async with ohm_on("claude", tmp_path, asking) as ohm:
        handle = await ohm.start("asking", "SHELL leave")
        events = [event async for event in handle.events()]
        assert ohm.requests() == ()
    (awaited,) = [event for event in events if event.kind == "answer_awaited"]
    assert awaited.request.arguments == '{"command":"leave"}'
    (given,) = [event for event in events if event.kind == "answer_given"]
    assert given.by == "cancel"
    assert [event.kind for event in events if event.kind == "run_ended"]


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_release_of_an_agent_is_kept_with_the_launch_as_its_npm_package_has_it(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "@openai" / "codex"
    (package / "bin").mkdir(parents=True)
    program = package / "bin" / "codex"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command_of("codex"))} "$@"\n')
    program.chmod(0o755)
    (tmp_path / "node_modules" / ".bin").mkdir()
    (tmp_path / "node_modules" / ".bin" / "codex").symlink_to(program)
    kept: list[object] = []
    for text in ('{"version": "0.169.0"}', '{"version": 3}', "{"):
        (package / "package.json").write_text(text)
        async with ohm_on(
            "codex", tmp_path, profile(), command=(str(tmp_path / "node_modules" / ".bin" / "codex"),)
        ) as ohm:
            task = ohm.task(f"{(await ohm.run('worker', 'READ')).unwrap().task_id}")
            kept.append(task.launch.programs if task and task.launch else None)
    assert kept == [{"codex": "0.169.0"}, {}, {}]
