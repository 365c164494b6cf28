"""Answers, sessions and models of a scripted agent: a real process, through everything but a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from acp_stage import Stage, answered, details, failed, told

from ohm_subagents.plugin import ErrorCode

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio
slow = pytest.mark.slow  # a process each; what stays quick has one of each kind


@pytest.fixture
def anyio_backend() -> str:
    """The ACP library runs on asyncio only."""
    return "asyncio"


async def test_an_answer_comes_with_usage_cost_and_who_gave_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm() as ohm:
        envelope = await answered(ohm, "Say hello.")
    assert envelope.output == "Hello from the agent."
    assert (envelope.backend, envelope.runtime, envelope.provider) == ("mine", "acp", "anthropic")
    usage = envelope.usage
    assert usage is not None
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (1, 100, 20, 40)
    assert usage.cost_usd == "0.25"
    (session,) = stage.noted("sessions")
    assert session["cwd"] == str(tmp_path / "work")
    assert session["env"]["PI_SUBAGENT_CHILD"] == "1"


@slow
async def test_an_agent_that_is_not_the_one_that_it_is_taken_for_is_refused(tmp_path: Path) -> None:
    async with Stage(tmp_path, ("imposter",)).ohm() as ohm:
        error = await failed(ohm, "Say hello.")
    assert error.message == 'mine was taken for claude, and calls itself "opencode".'


@pytest.mark.parametrize(
    ("words", "methods"),
    [
        (("resume", "load"), ["session/new", "session/resume"]),
        pytest.param(("load",), ["session/new", "session/load"], marks=slow),
        pytest.param(("lies", "load"), ["session/new", "session/load"], marks=slow),
    ],
)
async def test_a_follow_up_continues_the_session_of_the_agent(
    tmp_path: Path, words: tuple[str, ...], methods: list[str]
) -> None:
    stage = Stage(tmp_path, words)
    async with stage.ohm() as ohm:
        first = await answered(ohm, "Say hello.")
        sent = await ohm.call("task", {"op": "send", "id": first.task_id, "prompt": "Tell the past"})
    assert details(sent)["output"] == "Say hello."  # nothing of the past that was replayed
    assert [one["method"] for one in stage.noted("sessions")] == methods
    assert stage.noted("prompts") == ["Say hello.", "Tell the past"]


@pytest.mark.parametrize("words", [("lies",), pytest.param((), marks=slow)])
async def test_where_no_session_is_kept_the_conversation_is_in_the_prompt(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    stage = Stage(tmp_path, words)
    async with stage.ohm() as ohm:
        first = await answered(ohm, "Say hello.")
        sent = await ohm.call("task", {"op": "send", "id": first.task_id, "prompt": "And now"})
    (warning,) = (one for one in details(sent)["diagnostics"] if "session" in one)
    assert warning.startswith("mine did not continue its session (")
    assert "User:\nSay hello.\n\nAssistant:\nHello from the agent." in stage.noted("prompts")[1]


@slow
async def test_the_cost_of_a_session_that_is_continued_is_counted_once(tmp_path: Path) -> None:
    async with Stage(tmp_path, ("resume",)).ohm() as ohm:
        first = await answered(ohm, "Say hello.")
        sent = await ohm.call("task", {"op": "send", "id": first.task_id, "prompt": "Again"})
    assert details(sent)["usage"]["cost_usd"] == "0.25"


@slow
async def test_an_agent_is_logged_in_by_the_way_that_the_options_name(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ("auth",), {"agent": "claude", "authMethod": "key"})
    async with stage.ohm() as ohm:
        await answered(ohm, "Say hello.")
    assert stage.noted("logins") == ["key"]


async def test_a_model_that_the_agent_offers_is_chosen(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ("models",), {"agent": "other"})
    async with stage.ohm() as ohm:
        envelope = await answered(ohm, "Say hello.", "free", model="acme/two")
        error = await failed(ohm, "Say hello.", "free", model="acme/three")
    assert stage.noted("models") == ["two"]
    assert (envelope.provider, envelope.model) == ("acme", "two")
    assert (error.code, error.message) == (
        ErrorCode.MODEL_UNKNOWN,
        'mine does not offer the model "acme/three".',
    )
    assert "Its models: one, two." in error.advice


@slow
async def test_a_model_has_no_effect_on_an_agent_that_offers_no_choice(tmp_path: Path) -> None:
    async with Stage(tmp_path, options={"agent": "other"}).ohm() as ohm:
        envelope = await answered(ohm, "Say hello.", "free", model="acme/two")
    assert told(envelope) == ['mine offers no choice of a model, so "acme/two" has no effect.']
