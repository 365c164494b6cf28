"""One run of a backend under test, and what has to be so whatever is tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents._plugins.backends.interface import RunOutput
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import RunEvent, TextDelta
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.truncation import shortened
from ohm_subagents.testing.scenarios import request_for

if TYPE_CHECKING:
    from ohm_subagents._plugins.backends.interface import Backend
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents.testing.scenarios import Scenarios

Heard: TypeAlias = tuple[str, str, list[str]]
_QUOTED: Final = 200


class Recorder:
    """A sink that remembers, and knows when it should have been left alone."""

    def __init__(self) -> None:
        self.events: list[RunEvent] = []
        self.late: list[object] = []
        self.strays: list[object] = []
        self.closed = False

    def emit(self, event: object) -> None:
        """Remember one event. Raising here would test the backend's own handler, or end the event loop."""
        if self.closed:
            self.late.append(event)
        elif isinstance(event, RunEvent):
            self.events.append(event)
        else:
            self.strays.append(event)


async def run(
    backend: Backend, prompt: str, scenarios: Scenarios, sink: Recorder | None = None
) -> Result[RunOutput, OhmError]:
    """One run of a prompt."""
    return await played(backend, request_for(prompt, scenarios), sink or Recorder())


async def played(backend: Backend, request: RunRequest, sink: Recorder) -> Result[RunOutput, OhmError]:
    """One run of a request, which raised nothing, and in which nothing but events was emitted."""
    try:
        result = await backend.run(request, sink)
    except Exception as exc:
        told = f"The run raised {cut(exc)}; what may fail is returned as an Err."
        raise AssertionError(told) from exc
    assert not sink.strays, f"The backend emitted {sink.strays[0]!r}, which is not an event of a run."
    return result


async def heard(backend: Backend, prompt: str, scenarios: Scenarios, *, session: str) -> Heard:
    """The answer of a run that has to succeed, what it streamed, and the kinds of its events."""
    sink = Recorder()
    output = answered(await played(backend, request_for(prompt, scenarios, session=session), sink))
    streamed = "".join(event.text for event in sink.events if isinstance(event, TextDelta))
    return output.text, streamed, [event.kind for event in sink.events]


def silent(sink: Recorder, since: str) -> None:
    """Fail if something was emitted too late."""
    assert not sink.late, f"The run emitted {cut(sink.late[0])} after {since}."


def cut(value: object) -> str:
    """Quote a value in a message."""
    return shortened(repr(value), _QUOTED)


def answered(result: object) -> RunOutput:
    """The output of a run that has to succeed."""
    match result:
        case Ok(RunOutput(text=str(), summary=str()) as output):
            return output
        case Err(OhmError() as error):
            told = f"The run failed: {error}"
        case stranger:
            told = f"The run returned {stranger!r}, which is no Ok of a RunOutput of texts."
    raise AssertionError(told)


async def prepared(backend: object, request: RunRequest) -> None:
    """Prepare a backend that says it can be, for one run; raises nothing that is not the backend's fault."""
    prepare = getattr(backend, "prepare", None)
    assert prepare is not None, "The backend declares PREPARES, and has no method `prepare`."
    try:
        result: object = await prepare(request.profile, request.model)
    except Exception as exc:
        told = f"`prepare` raised {cut(exc)}; what it cannot make is returned as an Err."
        raise AssertionError(told) from exc
    match result:
        case Ok(None) | Err(OhmError()):
            pass
        case _:
            told = f"`prepare` returned {cut(result)}, which is no Ok of None and no Err of an OhmError."
            raise AssertionError(told)
