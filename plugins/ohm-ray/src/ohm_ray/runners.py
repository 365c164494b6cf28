"""The runners as a backend sees them, whoever starts them, and the transport to one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from pydantic_core import from_json, to_json

from ohm_ray.about import About
from ohm_subagents.remote import RunnerLostError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_ray.options import RayOptions
    from ohm_subagents.contract.wire import WireObject
    from ohm_subagents.plugin import OhmError


class RunnerCalls(Protocol):
    """Calls to one runner, whose frames are JSON."""

    async def call(self, method: str, *frames: bytes) -> bytes:
        """Call `hello`, `post`, `feed` or `about`. Raises `UndeliveredError` or `RunnerLostError`, as a transport."""
        ...


class Runners(Protocol):
    """The runners of a pool, by number."""

    async def find(self, number: int) -> RunnerCalls:
        """Return the runner of this number, which is started if there is none. Raises as `RunnerCalls.call` does."""
        ...

    async def has(self, number: int) -> bool:
        """Return True if there is a runner of this number. Raises as `RunnerCalls.call` does."""
        ...


class RunnerTransport:
    """Reaches one runner of a pool (`Transport`). Where it has died for good, `hello` looks for it anew.

    Fields:
        about: the facts about the runner that has answered last; None before one has.
        misfit: why it takes no run of this program, which has other options.
    """

    def __init__(self, runners: Runners, number: int, options: RayOptions) -> None:
        self.about: About | None = None
        self.misfit: OhmError | None = None
        self._runners = runners
        self._number = number
        self._options = options
        self._life: JsonValue = None
        self._calls: RunnerCalls | None = None

    async def hello(self) -> WireObject:
        """Return the runner's `Hello`; of each life of it, learn what it is."""
        hello = await self._introduced()
        if self.about is None or hello["incarnation"] != self._life:
            self.about = About.read(str(hello["backend"]), await (await self._found()).call("about"))
            self.misfit = self.about.misfit(self._options)
            self._life = hello["incarnation"]
        return hello

    async def _introduced(self) -> WireObject:
        if self._calls is not None:  # the head of the cluster may be gone, and is not asked
            with suppress(RunnerLostError):
                return _read(await self._calls.call("hello"))
        self._calls = await self._runners.find(self._number)
        return _read(await self._calls.call("hello"))

    async def post(self, frame: WireObject) -> WireObject:
        """Hand over a `Post`."""
        return _read(await (await self._found()).call("post", _written(frame)))

    async def feed(self, frame: WireObject) -> WireObject:
        """Hand over a `Poll`."""
        return _read(await (await self._found()).call("feed", _written(frame)))

    async def _found(self) -> RunnerCalls:
        if self._calls is None:
            self._calls = await self._runners.find(self._number)
        return self._calls


def _written(frame: WireObject) -> bytes:
    return to_json(frame)


def _read(frame: bytes) -> WireObject:
    fields: WireObject = from_json(frame)
    return fields
