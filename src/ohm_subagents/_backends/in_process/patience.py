"""Waiting a little when a provider asks for it. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from pydantic_ai.exceptions import ModelRateLimitError
from pydantic_ai.models.wrapper import WrapperModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import RunContext

MAX_WAITS: Final = 2
MAX_WAIT_S: Final = 5.0


class PatientModel(WrapperModel):
    """Honours a rate limit's `Retry-After` of up to five seconds, at most twice a request.

    It is the only retry there is: everything else fails at once, and the caller decides.
    """

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[object] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        def attempt() -> AbstractAsyncContextManager[StreamedResponse]:
            return self.wrapped.request_stream(messages, model_settings, model_request_parameters, run_context)

        async with AsyncExitStack() as stack:
            yield await _patiently(stack, attempt)


async def _patiently(
    stack: AsyncExitStack, attempt: Callable[[], AbstractAsyncContextManager[StreamedResponse]]
) -> StreamedResponse:
    for _ in range(MAX_WAITS):
        try:
            return await stack.enter_async_context(attempt())
        except ModelRateLimitError as error:
            if error.retry_after is None or error.retry_after > MAX_WAIT_S:
                raise
            await anyio.sleep(error.retry_after)
    return await stack.enter_async_context(attempt())
