"""The pydantic-ai model behind `local/search`: streams what the plan says, and counts no tokens, for it has none."""

import datetime as dt
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio.lowlevel
from pydantic_ai import RunContext
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from ohm_subagents.backends.in_process.search.plan import ADVICE, Answer, Failure, PlannedCall, next_step


class NoSearchError(UserError):
    """There is no search to answer from: the tool is missing, or it failed."""


class SearchModel(Model):
    """Answers from the message history alone: the same history gives the same step, but for an advice given once."""

    def __init__(self, *, provider: str, name: str, advice: str = "") -> None:
        """Answer with this advice on how to get a model; without one, with the example of a model and its key."""
        super().__init__()
        self._advice = advice or ADVICE
        self._system = provider
        self._name = name
        self._has_advised = False

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return self._system

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        step = self._step(messages, parameters)
        part = (
            ToolCallPart(step.tool, step.arguments, tool_call_id=step.id)
            if isinstance(step, PlannedCall)
            else TextPart(step.text)
        )
        return ModelResponse(parts=[part], model_name=self._name, provider_name=self._system)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        yield _SearchStream(
            model_request_parameters=parameters,
            _step=self._step(messages, parameters),
            _model_name=self._name,
            _provider_name=self._system,
            _timestamp=dt.datetime.now(tz=dt.UTC),  # noqa: TID251  pydantic-ai wants it; nothing of ours reads it
        )

    def _step(self, messages: list[ModelMessage], parameters: ModelRequestParameters) -> PlannedCall | Answer:
        tools = {tool.name for tool in parameters.function_tools}
        step = next_step(messages, tools, advice="" if self._has_advised else self._advice)
        if isinstance(step, Failure):
            raise NoSearchError(step.why)
        self._has_advised = self._has_advised or isinstance(step, Answer)
        return step


@dataclass
class _SearchStream(StreamedResponse):
    _step: PlannedCall | Answer
    _model_name: str
    _provider_name: str
    _timestamp: dt.datetime

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        step = self._step
        if isinstance(step, PlannedCall):
            yield self._parts_manager.handle_tool_call_part(
                vendor_part_id="call", tool_name=step.tool, args=step.arguments, tool_call_id=step.id
            )
            return
        for line in step.text.splitlines(keepends=True):
            await anyio.lowlevel.checkpoint()
            for event in self._parts_manager.handle_text_delta(vendor_part_id="answer", content=line):
                yield event

    async def close_stream(self) -> None:
        """Nothing is open."""

    @property
    def model_name(self) -> str:
        return self._model_name

    @property
    def provider_name(self) -> str:
        return self._provider_name

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> dt.datetime:
        return self._timestamp
