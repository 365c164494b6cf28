"""A run's model behind the engine's gate, which sends a refused request again. Imports pydantic_ai: import it late."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NoReturn

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, ModelOverloadedError, ModelRateLimitError
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings, merge_model_settings

from ohm_subagents.backends.in_process.bridge import ComingAnswer
from ohm_subagents.backends.in_process.model_facts import cost_of
from ohm_subagents.backends.in_process.soundness import sound
from ohm_subagents.backends.in_process.token_estimate import TokenEstimate
from ohm_subagents.backends.in_process.tracing import record_first_chunk
from ohm_subagents.plugin import FINALIZE, Err, Grant, Ok, RequestNeed, Result, RouteResolved, Usage, UsageAdded

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

    from ohm_subagents.backends.in_process.bridge import Bridge
    from ohm_subagents.backends.in_process.model_facts import Price
    from ohm_subagents.backends.in_process.tools.use import ToolUse
    from ohm_subagents.plugin import Gate, ModelPattern, OhmError

_FREE: Final = Ok(Grant())
_LAST_REQUEST: Final = "This is the last request that the budget allows: answer now with what you have, without tools."
_LAST_CALL: Final = f"This is the last request that the budget allows: call {FINALIZE} now with what you have."


class RefusedError(Exception):
    """The gate did not let a request through; `error` is what the run answers."""

    def __init__(self, error: OhmError) -> None:
        super().__init__(error.message)
        self.error = error


class GatedModel(WrapperModel):
    """Asks `gate` before each request, tells `bridge` every piece of the answer, and keeps `tools` closed.

    The agent asks for whole answers and is spared what a streamed one costs it, most of a short run; we stream from the
    provider all the same. What a request has used is told before the gate is left. A request that the provider refuses
    because it is overloaded is made again as long as the gate says so. It is the only retry there is: everything else
    fails at once, and the caller decides.
    """

    def __init__(
        self,
        model: Model,
        *,
        pattern: ModelPattern,
        price: Price | None,
        gate: Gate | None,
        bridge: Bridge,
        tools: ToolUse,
    ) -> None:
        super().__init__(model)
        self._pattern = pattern
        self._price = price
        self._gate = gate
        self._bridge = bridge
        self._tools = tools
        self._estimate = TokenEstimate()
        self._served = model.model_name

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        attempt = 0
        while True:
            attempt += 1
            async with self._turn(messages, model_settings, model_request_parameters) as granted:
                if isinstance(granted, Err):
                    raise RefusedError(granted.err_value)
                grant, is_open = granted.ok_value, False
                asked, parameters = self._closing(grant, messages, model_request_parameters)
                settings = self._capped(grant, model_settings)
                asked_s = time.perf_counter()
                try:
                    async with self.wrapped.request_stream(asked, settings, parameters) as stream:
                        is_open = True
                        response = await self._heard(stream)
                        record_first_chunk(stream.time_to_first_chunk(asked_s))
                        return response
                except ModelAPIError as error:
                    if is_open or not await self._may_ask_again(error, attempt):
                        raise

    def prepare_request(
        self, model_settings: ModelSettings | None, model_request_parameters: ModelRequestParameters
    ) -> tuple[ModelSettings | None, ModelRequestParameters]:
        """Prepare what a span shows of a request: no tools, whose definitions are kilobytes in each.

        What is sent is prepared by the wrapped model.
        """
        settings, parameters = super().prepare_request(model_settings, model_request_parameters)
        return settings, replace(parameters, function_tools=[])

    def request_stream(self, *_arguments: object, **_options: object) -> NoReturn:
        """Refuse: streaming past `request` would bypass the gate, the budget and the bridge."""
        raise NotImplementedError("A subagent's model is asked for whole answers; it streams by itself.")

    async def _heard(self, stream: StreamedResponse) -> ModelResponse:
        """Pass on the answer as it comes; what there is of one that breaks off is kept."""
        self._tell_served(stream.model_name)
        answer = ComingAnswer(self._bridge)
        try:
            async for event in stream:
                answer.take(event)
        except BaseException:
            what_came = _without_parts(stream) if answer.is_too_long else stream.get()
            broken_off = replace(sound(what_came), state="interrupted")
            self._bridge.unfinished = None if answer.is_too_long else broken_off
            self._bridge.sink.emit(UsageAdded(usage=_usage_of(broken_off)))
            raise
        response = sound(stream.get())
        self._tell_served(stream.model_name)  # some services name it behind the first piece only
        self._bridge.sink.emit(UsageAdded(usage=_usage_of(response)))
        return response

    def _tell_served(self, name: str) -> None:
        """Tell the model that the provider names, once; a provider that names none is not asked."""
        if name and name != self._served:
            self._served = name
            asked = self._pattern
            self._bridge.sink.emit(RouteResolved(provider=asked.provider, model=asked.model, served_model=name))

    def _turn(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> AbstractAsyncContextManager[Result[Grant, OhmError]]:
        """Return the gate's turn for a request, held until the answer is complete."""
        if self._gate is None:
            return nullcontext(_FREE)
        return self._gate.request(
            RequestNeed(
                provider=self._pattern.provider,
                model=self._pattern.model,
                input_tokens=self._estimate.of(messages, parameters),
                max_output_tokens=self._max_tokens(settings),
                price=self._price,
            )
        )

    def _closing(
        self, grant: Grant, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> tuple[list[ModelMessage], ModelRequestParameters]:
        """Return the request as it is, or with the word that the run has to answer now, and no tool but for that.

        The word is for this request alone: a later run of the session has its tools again.
        """
        if grant.is_last:
            self._tools.close(_LAST_CALL if self._tools.hands_in else _LAST_REQUEST)
        if not self._tools.closing:
            return messages, parameters
        if _is_handed_in(messages):
            return messages, replace(parameters, function_tools=[])
        said = UserPromptPart(self._tools.closing)
        match messages:
            case [*earlier, ModelRequest() as newest]:
                messages = [*earlier, replace(newest, parts=[*newest.parts, said])]
            case _:
                messages = [*messages, ModelRequest(parts=[said])]
        return messages, replace(
            parameters, function_tools=[one for one in parameters.function_tools if one.name == FINALIZE]
        )

    def _max_tokens(self, settings: ModelSettings | None) -> int | None:
        return (merge_model_settings(self.wrapped.settings, settings) or {}).get("max_tokens")

    def _capped(self, grant: Grant, settings: ModelSettings | None) -> ModelSettings | None:
        cap, asked = grant.max_output_tokens, self._max_tokens(settings)
        if cap is None or (asked is not None and asked <= cap) or "max_tokens" in self.wrapped.unsupported_settings:
            return settings
        return merge_model_settings(settings, ModelSettings(max_tokens=cap))

    async def _may_ask_again(self, error: ModelAPIError, attempt: int) -> bool:
        if self._gate is None or not _is_overload(error):
            return False
        status = error.status_code if isinstance(error, ModelHTTPError) else None
        return await self._gate.throttled(
            self._pattern.provider, attempt=attempt, retry_after_s=error.retry_after, status=status
        )


def _without_parts(stream: StreamedResponse) -> ModelResponse:
    """Return an answer without its text, which is too long to be put together once more."""
    return ModelResponse(
        parts=[],
        usage=stream.usage,
        model_name=stream.model_name,
        provider_name=stream.provider_name,
        provider_url=stream.provider_url,
    )


def _is_handed_in(messages: list[ModelMessage]) -> bool:
    """Return True if the model has just handed in its answer."""
    match messages:
        case [*_, ModelRequest(parts=[*_, ToolReturnPart(tool_name=name, outcome="success")])]:
            return name == FINALIZE
        case _:
            return False


def _is_overload(error: ModelAPIError) -> bool:
    match error:
        case ModelRateLimitError() | ModelOverloadedError():
            return True
        case ModelHTTPError(status_code=HTTPStatus.SERVICE_UNAVAILABLE):
            return True
        case _:
            return False


def _usage_of(response: ModelResponse) -> Usage:
    """Return the usage of a request: all of it, or what the provider had counted when the response was cut."""
    used = response.usage
    used.cost = cost_of(response)  # else pydantic-ai would look for it once more
    return Usage(
        requests=1,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        cost_usd=used.cost,
    )
