"""Rules for the commands of `bash`: from any file, by the strictest of them, on the calls of a real run."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from acting import ALL, ActingBackend
from model_server import Call, ModelServer, Say

from ohm_subagents import Approve, Budget, ErrorCode, Ohm
from ohm_subagents.contract import AnswerAwaited, Checkpointed, ToolEnded, ToolStarted
from ohm_subagents.plugin import Capability

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The in-process backend is for asyncio."""
    return "asyncio"


def unruled() -> ActingBackend:
    """Return a backend that keeps no rules."""

    async def act(*_: object) -> str:
        return "done"

    return ActingBackend(act, id="unruled", capabilities=ALL - {Capability.CALL_RULES})


class Place:
    """A user's directory and a project, with a subagent `worker` on a scripted model."""

    def __init__(self, root: Path) -> None:
        self.user, self.cwd = root / "user", root / "project"
        (self.user / "subagents").mkdir(parents=True)
        (self.cwd / ".pi").mkdir(parents=True)

    def profile(self, tools: str) -> None:
        text = f"---\nid: worker\nsummary: Works\nmodel: acme/m1\n{tools}\n---\nWork."
        (self.user / "subagents" / "worker.md").write_text(text)

    @asynccontextmanager
    async def open(
        self, server: ModelServer, *, user: Any = None, project: Any = None, unattended: str | None = None
    ) -> AsyncGenerator[Ohm]:
        acme = {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["m1"]}
        worker = {} if user is None else {"worker": {"tools": user}}
        config = {"providers": {"acme": acme}, "subagents": {**worker, "requests": {"unattended": unattended}}}
        (self.user / "ohm.json").write_text(json.dumps(config))
        if project is not None:
            (self.cwd / ".pi" / "ohm.json").write_text(json.dumps({"subagents": {"worker": {"tools": project}}}))
        env = {"PI_CONFIG_DIR": str(self.user), "ACME_KEY": "k", "PATH": "/usr/bin:/bin", "HOME": str(self.user)}
        async with Ohm.open(cwd=self.cwd, env=env, plugins=[unruled()]) as ohm:
            yield ohm


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def ran(place: Place, *commands: str, **rules: Any) -> list[tuple[bool, str]]:
    """Have the subagent call `bash` with each command; return whether each failed, and what the model read."""
    script = (Say(Call("bash", {"command": command})) for command in commands)
    async with ModelServer(*script, Say("Done.")) as server, place.open(server, **rules) as ohm:
        handle = await ohm.start("worker", "Do it.")
        events = [event async for event in handle.events()]
        assert (await handle.wait()).unwrap().output == "Done."
    return [(event.status == "error", event.text) for event in events if isinstance(event, ToolEnded)]


async def test_nobody_is_asked_about_a_call_for_which_the_budget_leaves_no_room(place: Place) -> None:
    place.profile("tools: {ask: ['bash']}")
    async with (
        ModelServer(Say(Call("bash", {"command": "touch made"}))) as server,
        place.open(server, unattended="allow") as ohm,
    ):
        handle = await ohm.start("worker", "Do it.", budget=Budget(requests=1))
        assert (await handle.wait()).unwrap_err().code == ErrorCode.BUDGET_EXCEEDED
        task = ohm.task(handle.id)
    assert task is not None
    assert not (place.cwd / "made").exists()
    assert [one.message for one in task.diagnostics if "was made" in one.message] == []


async def test_a_denied_command_is_not_run_and_the_model_reads_why(place: Place) -> None:
    place.profile("tools: {deny: ['bash: touch *']}")
    (failed, text), (other_failed, _) = await ran(place, "true; touch made", "echo hi")
    assert failed
    assert "it may run 'touch *'" in text
    assert "worker.md" in text
    assert not other_failed
    assert not (place.cwd / "made").exists()


@pytest.mark.slow
async def test_only_allowed_commands_run(place: Place) -> None:
    place.profile("tools: ['bash: echo *', read]")
    assert [failed for failed, _ in await ran(place, "echo hi", "echo hi > made", "touch made")] == [False, True, True]
    assert not (place.cwd / "made").exists()


@pytest.mark.slow
async def test_the_users_file_adds_a_denial_to_the_profile(place: Place) -> None:
    place.profile("tools: ['bash: echo *', 'bash: touch *']")
    found = await ran(place, "echo hi", "touch made", user={"deny": ["bash: touch *"]})
    assert [failed for failed, _ in found] == [False, True]


@pytest.mark.slow
async def test_a_list_of_the_users_file_replaces_that_of_the_profile(place: Place) -> None:
    place.profile("tools: ['bash: echo *']")
    found = await ran(place, "echo hi", "true", user={"allow": ["bash: true"]})
    assert [failed for failed, _ in found] == [True, False]


async def test_a_project_only_tightens(place: Place) -> None:
    place.profile("tools: ['bash: echo *', 'bash: true']")
    found = await ran(place, "echo hi", "true", "false", project={"allow": ["bash: true", "bash: false"]})
    assert [failed for failed, _ in found] == [True, False, True]


async def test_the_conversation_is_kept_for_a_call_that_waits_and_not_for_one_that_need_not(place: Place) -> None:
    place.profile("tools: {allow: [bash], ask: ['bash: touch *']}")
    calls = (Say(Call("bash", {"command": "touch made"})) for _ in range(3))

    async def approve(_request: object) -> Approve:
        return Approve("task")

    async with ModelServer(*calls, Say("Done.")) as server, place.open(server) as ohm:
        with ohm.answering(approve, by="program"):
            handle = await ohm.start("worker", "Do it.")
            events = [event async for event in handle.events(with_checkpoints=True)]
    kinds = [event.kind for event in events if isinstance(event, Checkpointed | ToolStarted | AnswerAwaited)]
    assert kinds[:4] == ["tool_started", "checkpointed", "answer_awaited", "checkpointed"]
    assert kinds.count("answer_awaited") == 1
    calls_after = [kinds[at + 1] for at, kind in enumerate(kinds) if kind == "tool_started"]
    assert calls_after.count("checkpointed") == 3


async def test_a_backend_that_cannot_keep_the_rules_is_refused(place: Place) -> None:
    place.profile("tools: ['bash: echo *']")
    async with ModelServer() as server, place.open(server) as ohm:
        error = (await ohm.run("worker", "Do it.", backend="unruled")).unwrap_err()
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
    assert "cannot keep the rules of profile 'worker' for commands of 'bash'" in error.message


async def test_it_is_refused_before_the_directory_is_looked_at(place: Place, tmp_path: Path) -> None:
    place.profile("tools: ['bash: echo *']")
    gone = tmp_path / "gone"
    async with ModelServer() as server, place.open(server) as ohm:
        error = (await ohm.run("worker", "Do it.", backend="unruled", cwd=gone)).unwrap_err()
        unruled = (await ohm.run("finder", "Do it.", backend="unruled", cwd=gone)).unwrap_err()
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
    assert f"{gone}" in unruled.message


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("edit: *", "'edit: *' names no path; a rule is like 'edit: src/**', and 'edit' alone is every call"),
        ("search: query", "'search: query' names no argument; a rule for calls of 'search' is like 'search: branch="),
        ("bsh: git", "with one of its arguments and a pattern for the value. Did you mean 'bash'?"),
        ("bash: *", "'bash: *' names no command; a rule is like 'bash: git push *'"),
        ("bash:", "'bash:' names no command; a rule is like 'bash: git push *'"),
    ],
)
async def test_a_rule_that_cannot_be_kept_keeps_the_subagent_from_running(
    place: Place, rule: str, sentence: str
) -> None:
    place.profile("tools: [bash]")
    async with ModelServer() as server, place.open(server, user={"deny": [rule]}) as ohm:
        error = (await ohm.run("worker", "Do it.")).unwrap_err()
    assert sentence in error.message


async def test_what_task_asks_about_is_done_and_told_where_nobody_can_answer(place: Place) -> None:
    script = (Say(Call("bash", {"command": "touch ../made"})), Say(Call("bash", {"command": "touch here"})))
    async with ModelServer(*script, Say("Done.")) as server, place.open(server) as ohm:
        envelope = (await ohm.run("task", "Do it.", model="acme/m1")).unwrap()
    assert (place.cwd.parent / "made").exists()
    (told,) = envelope.diagnostics
    assert "may write outside the working directory" in told


@pytest.mark.parametrize("unattended", ["deny", "wait"])
async def test_what_task_asks_about_needs_a_backend_that_asks_where_nobody_allows_it(
    place: Place, unattended: str
) -> None:
    async with ModelServer() as server, place.open(server, unattended=unattended) as ohm:
        error = (await ohm.run("task", "Do it.", backend="unruled")).unwrap_err()
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
    assert "'unruled' cannot keep the rules of profile 'task' for commands of 'bash'" in error.message
    assert error.advice.endswith('or set subagents.requests.unattended to "allow".')


@pytest.mark.parametrize("unattended", [None, "allow"])
async def test_a_backend_that_cannot_ask_about_what_task_asks_about_says_so(
    place: Place, unattended: str | None
) -> None:
    async with ModelServer() as server, place.open(server, unattended=unattended) as ohm:
        envelope = (await ohm.run("task", "Do it.", backend="unruled")).unwrap()
        reader = (await ohm.run("finder", "Do it.", backend="unruled")).unwrap()
    (told,) = envelope.diagnostics
    assert told.startswith("Calls of 'bash' are not asked about: the backend 'unruled' cannot ask.")
    assert not reader.diagnostics


async def test_a_profile_of_the_user_takes_the_place_of_what_task_asks_about(place: Place) -> None:
    (place.user / "subagents" / "task.md").write_text("---\nsummary: S\ntools: [bash]\nmodel: acme/m1\n---\nP.")
    script = (Say(Call("bash", {"command": "touch ../made"})), Say("Done."))
    async with ModelServer(*script) as server, place.open(server) as ohm:
        envelope = (await ohm.run("task", "Do it.")).unwrap()
    assert not envelope.diagnostics
