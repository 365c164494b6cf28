"""However a run is stopped, its envelope has what was done, and its session goes on from there.

Each way to stop is a row of `WAYS`. The model works for a turn, says `WORDS`, and then it happens.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from advancing_loop import advance
from model_server import Call, Drop, Gate, ModelServer, Reply, Request, Say, Stall, Status, Wire

from ohm_subagents import ErrorCode, Limits, Ohm
from ohm_subagents.contract import Task
from ohm_subagents.testing import HERMETIC, EventLog

pytestmark = pytest.mark.anyio

PLAN = "Let me write it down."
WORDS = "The first half "
NOTES = {"path": "notes.txt", "content": "half of it\n"}


@pytest.fixture
def anyio_backend(moved_time: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
    return moved_time


async def nothing(_ohm: Ohm, _task_id: str) -> None:
    """The model, or the engine, stops the run by itself."""


async def a_minute(_ohm: Ohm, _task_id: str) -> None:
    """So much time passes once all are waiting."""
    await anyio.wait_all_tasks_blocked()
    advance(60)


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to stop a run, and what the caller is told then.

    `last`: the reply that is stopped; it waits at the gate until the `WORDS` have been seen. `stop` is called then.
    `says`: whether there are `WORDS`. `subagents` and `limits` configure the run.
    """

    last: Callable[[Gate], Reply]
    code: str
    says: bool = True
    stop: Callable[[Ohm, str], Awaitable[None]] = nothing
    subagents: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits | None = None


def stalling() -> Mapping[str, Any]:
    return {"backends": {"interactive-sdk": {"readTimeoutMs": 60_000}}}


WAYS = {
    "401": Way(last=lambda _: Status(401), code=ErrorCode.PROVIDER_AUTHENTICATION, says=False),
    "429": Way(
        last=lambda _: Status(429, headers=(("Retry-After", "0"),)), code=ErrorCode.PROVIDER_RATE_LIMITED, says=False
    ),
    "500": Way(last=lambda _: Status(500), code=ErrorCode.PROVIDER_UNAVAILABLE, says=False),
    "reset": Way(last=lambda seen: Say(WORDS, seen, Drop()), code=ErrorCode.PROVIDER_CONNECTION_FAILED),
    "stall": Way(
        last=lambda _: Say(WORDS, Stall()), code=ErrorCode.PROVIDER_TIMEOUT, stop=a_minute, subagents=stalling()
    ),
    "malformed": Way(
        last=lambda seen: Say(WORDS, seen, Wire(b"data: {oops\n\n")), code=ErrorCode.PROVIDER_MALFORMED_RESPONSE
    ),
    "soft-clock": Way(
        last=lambda _: Say(WORDS, Stall()),
        code=ErrorCode.BACKEND_TIMEOUT,
        stop=a_minute,
        limits=Limits(soft_ms=60_000),
    ),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))


@dataclass(frozen=True)
class Stopped:
    """A task that was stopped, what it had asked its model until then, and the first request of the run after it."""

    code: str
    task: Task
    envelope: Mapping[str, Any]
    next: Request
    answer: Mapping[str, Any]
    asked: int
    """The number of requests that reached the server until it was stopped."""


async def stopped_by(way: Way, cwd: Path, *, works_first: bool) -> Stopped:
    """Run a task until the way stops it, then continue its session."""
    seen, log = Gate(), EventLog()

    def script(asked: Request) -> Reply:
        if asked.prompt == "Go on.":
            return Say("The second half.")
        return Say(PLAN, Call("write", NOTES)) if works_first and not asked.tool_results else way.last(seen)

    config = {
        "providers": {"acme": {"baseUrl": "", "models": ["small"]}},
        "subagents": {"model": "acme/small", "sendToFinished": "resume", **way.subagents},
    }
    outcomes: list[Any] = []
    async with ModelServer(script) as server:
        config["providers"]["acme"]["baseUrl"] = server.url
        async with Ohm.open(cwd=cwd, config=config, env=HERMETIC) as ohm:

            async def run() -> None:
                outcomes.append(await ohm.run("task", "Do it.", limits=way.limits, observer=log))

            async with anyio.create_task_group() as group:
                group.start_soon(run)
                if way.says:
                    await log.until(lambda task, _: WORDS in task.text)
                    seen.open()
                    await way.stop(ohm, log.entries[0][0].id)
            error = outcomes[0].err_value
            asked = len(server.requests)
            task, envelope = ohm.task(error.task_id), ohm.envelope(error.task_id)
            answer = await ohm.call("task", {"op": "send", "id": error.task_id, "prompt": "Go on."})
    return Stopped(error.code, task, envelope.payload(), server.requests[-1], answer.details, asked)


@pytest.mark.sample(3)
@every_way
async def test_the_envelope_has_what_was_done(way: Way, tmp_path: Path) -> None:
    stopped = await stopped_by(way, tmp_path, works_first=True)
    envelope = stopped.envelope
    assert stopped.code == way.code
    assert envelope["error_code"] == way.code
    assert envelope["assistant_text"] == (f"{PLAN}\n\n{WORDS}".strip() if way.says else PLAN)
    assert [row[:7] for row in envelope["tool_rows"]] == ["○ write", "✓ write"]
    assert envelope["files"] == ["notes.txt"]
    assert (tmp_path / "notes.txt").read_text() == NOTES["content"]
    usage = envelope["usage"]
    assert (usage["requests"], usage["tool_calls"]) == (stopped.asked, 1)
    assert (usage["input_tokens"], usage["output_tokens"], usage["cached_tokens"]) == (100, 20, 40)
    assert envelope["session_id"] == stopped.task.session_id
    assert stopped.task.activity.progress_ms >= stopped.task.started_ms


@pytest.mark.sample(3)
@every_way
async def test_the_session_goes_on_with_what_was_said_and_done(way: Way, tmp_path: Path) -> None:
    stopped = await stopped_by(way, tmp_path, works_first=True)
    assert stopped.answer["output"] == "The second half."
    assert stopped.answer["session_id"] == stopped.task.session_id
    said = [(message["role"], message.get("content")) for message in stopped.next.messages[1:]]
    assert said == [
        ("user", "Do it."),
        ("assistant", PLAN),
        ("tool", "Wrote 11 bytes to notes.txt."),
        *([("assistant", WORDS)] if way.says else []),
        ("user", "Go on."),
    ]


@pytest.mark.sample(3)
@every_way
async def test_a_run_that_is_stopped_in_its_first_turn_is_continued_too(way: Way, tmp_path: Path) -> None:
    stopped = await stopped_by(way, tmp_path, works_first=False)
    assert stopped.envelope.get("assistant_text", "") == (WORDS.strip() if way.says else "")
    said = [(message["role"], message["content"]) for message in stopped.next.messages[1:]]
    assert said == [("user", "Do it."), *([("assistant", WORDS)] if way.says else []), ("user", "Go on.")]


async def test_a_run_that_is_cancelled_has_what_its_provider_had_counted_by_then(tmp_path: Path) -> None:
    """The task has settled when its last request tells what it has used, which is paid for all the same."""
    log = EventLog()
    counted = Wire(b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"small","choices":[],')
    tokens = Wire(b'"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}\n\n')
    async with ModelServer(Say(WORDS, counted, tokens, "and", Stall())) as server:
        providers = {"acme": {"baseUrl": server.url, "models": ["small"]}}
        config = {"providers": providers, "subagents": {"model": "acme/small"}}
        async with Ohm.open(cwd=tmp_path, config=config, env=HERMETIC, plugins=[log]) as ohm:
            handle = await ohm.start("task", "Do it.")
            await log.until(lambda task, _: "and" in task.text)
            assert await handle.cancel()
            await log.until(lambda task, _: task.activity.usage.input_tokens > 0)
            used, envelope = ohm.task(handle.id).activity.usage, ohm.envelope(handle.id)
    assert (used.requests, used.input_tokens, used.output_tokens) == (1, 100, 20)
    assert (envelope.status, envelope.assistant_text) == ("cancelled", f"{WORDS}and")
