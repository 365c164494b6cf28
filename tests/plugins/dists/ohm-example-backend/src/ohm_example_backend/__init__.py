"""A third party's backend, through the plugin door only: it upper-cases the prompt."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

from anyio.lowlevel import checkpoint

from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    OhmError,
    Ok,
    Options,
    Result,
    RouteResolved,
    RunOutput,
    RunRequest,
    Sink,
    TextDelta,
    hookimpl,
)


class UpperOptions(Options):
    """`subagents.backends.upper` of ohm.json."""

    suffix: str = ""


class UpperBackend:
    """Says every word of the prompt as its own event, so that streaming can be seen."""

    def __init__(self, options: UpperOptions) -> None:
        self._options = options

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        sink.emit(RouteResolved(provider="example", model="upper", runtime="upper", route="upper"))
        answer = request.prompt.upper() + self._options.suffix
        for word in answer.split():
            await checkpoint()
            sink.emit(TextDelta(text=f"{word} "))
        await checkpoint()
        return Ok(RunOutput(text=answer))


@asynccontextmanager
async def open_upper(options: UpperOptions) -> AsyncGenerator[Backend, None]:
    yield UpperBackend(options)


@hookimpl
def ohm_backends() -> Iterable[BackendSpec[UpperOptions]]:
    yield BackendSpec(id="upper", summary="Upper-cases the prompt.", options=UpperOptions, open=open_upper)
