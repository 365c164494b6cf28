"""Runs of the in-process backend against a `ModelServer`, for tests."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from run_requests import changed, run_request

from ohm_subagents._plugins.backends.context import BackendContext
from ohm_subagents._plugins.suites.tool import Tool, ToolCall, ToolResult
from ohm_subagents.backends.in_process.options import InProcessOptions
from ohm_subagents.backends.in_process.providers import custom_model_specs
from ohm_subagents.backends.in_process.spec import interactive_sdk_spec
from ohm_subagents.contract import (
    Err,
    Event,
    ModelPattern,
    OhmError,
    Ok,
    Profile,
    Result,
    SessionId,
    TaskId,
)
from ohm_subagents.contract.services import CompatibleModel, CompatibleProvider
from ohm_subagents.files import trust_nothing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from model_server import ModelServer
    from pydantic import JsonValue

    from ohm_subagents._plugins.backends.interface import Backend, ModelSpec, RunOutput
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents.files import Covers

KEY = "sk-acme-0123456789"
ENV = {"ACME_KEY": KEY}
PROFILE = Profile(id="finder", name="Finder", summary="Finds code.", prompt="You find code.")
E = TypeVar("E", bound=Event)


class EventLog:
    """A sink that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


def request(prompt: str = "Where is it?", **changes: Any) -> RunRequest:
    plain = run_request(
        task_id=TaskId("task_1_0001"),
        session_id=SessionId("session"),
        profile=PROFILE,
        description="find it",
        prompt=prompt,
        instructions="You are the finder.",
        cwd=Path.cwd(),
        model=ModelPattern(provider="acme", model="m1"),
    )
    return changed(plain, **changes)


def acme(server: ModelServer, *models: CompatibleModel, name: str = "acme") -> CompatibleProvider:
    return CompatibleProvider(name=name, base_url=server.url, api_key_env="ACME_KEY", models=models)


def offering(*specs: ModelSpec, env: Mapping[str, str] | None = None, trusts: Covers = trust_nothing) -> BackendContext:
    """Return what a backend may use where plugins offer these models."""
    return BackendContext(env=env or {}, trusts=trusts, models=lambda: {spec.provider: spec for spec in specs})


@asynccontextmanager
async def opened(
    *providers: CompatibleProvider, env: Mapping[str, str] = ENV, trusts: Covers = trust_nothing, **options: Any
) -> AsyncGenerator[Backend]:
    """The backend as its plugin opens it, over custom providers."""
    spec = interactive_sdk_spec(offering(*custom_model_specs(providers, env), env=env, trusts=trusts))
    async with spec.open(InProcessOptions(**options)) as backend:
        yield backend


def answer(outcome: Result[RunOutput, OhmError]) -> str:
    assert isinstance(outcome, Ok), outcome
    return outcome.ok_value.text


def error(outcome: Result[RunOutput, OhmError]) -> OhmError:
    assert isinstance(outcome, Err), outcome
    return outcome.err_value


def tool_of(name: str, execute: Callable[[ToolCall], Awaitable[ToolResult]]) -> Tool:
    """A tool that takes no arguments and does what a function does."""
    return Tool(
        name=name,
        label="",
        description="",
        input_schema={"type": "object"},
        execute=execute,
        call_view=lambda arguments, _theme: str(arguments),
    )


def child_tool(name: str, *results: ToolResult, calls: list[Any] | None = None) -> Tool:
    """A tool of a plugin that answers with `results`, in order; each but the last of a call is a progress frame."""

    async def execute(call: ToolCall) -> ToolResult:
        if calls is not None:
            calls.append(call.arguments)
        for frame in results[:-1]:
            assert call.on_update is not None
            call.on_update(frame)
        return results[-1]

    schema: dict[str, JsonValue] = {"type": "object", "properties": {"ctx": {"type": "string"}}}
    return Tool(
        name=name,
        label=name,
        description="A tool.",
        input_schema=schema,
        execute=execute,
        call_view=lambda _arguments, _theme: name,
    )


def kinds(events: Sequence[Event]) -> list[str]:
    return [event.kind for event in events]
