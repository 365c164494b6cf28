"""An asyncio event loop whose clock a test moves on, for what only runs on asyncio and waits for time to pass."""

import asyncio


class AdvancingLoop(asyncio.SelectorEventLoop):
    """Runs in real time, plus whatever it was moved on by: a wait that is over by then ends at once."""

    def __init__(self) -> None:
        self._ahead_s = 0.0
        super().__init__()

    def time(self) -> float:
        """Seconds."""
        return super().time() + self._ahead_s

    def advance(self, seconds: float) -> None:
        """Let so much time have passed."""
        self._ahead_s += seconds
