"""Event loops in real time whose clock a test moves on: a wait that is over by then ends at once.

For what needs real processes, sockets or threads, which a clock that jumps by itself would outrun.
"""

import asyncio

import trio.lowlevel
import trio.testing


class AdvancingLoop(asyncio.SelectorEventLoop):
    """Runs in real time, plus whatever it was moved on by."""

    def __init__(self) -> None:
        self._ahead_s = 0.0
        super().__init__()

    def time(self) -> float:
        """Seconds."""
        return super().time() + self._ahead_s

    def advance(self, seconds: float) -> None:
        """Let so much time have passed."""
        self._ahead_s += seconds


def advancing(name: str) -> tuple[str, dict[str, object]]:
    """The `anyio_backend` of this name for a test that moves its clock on."""
    if name == "trio":
        return name, {"clock": trio.testing.MockClock(rate=1)}
    return name, {"loop_factory": AdvancingLoop}


def advance(seconds: float) -> None:
    """Let so much time have passed on the event loop that we are in."""
    if trio.lowlevel.in_trio_run():
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, trio.testing.MockClock)
        clock.jump(seconds)
    else:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, AdvancingLoop)
        loop.advance(seconds)
