"""The seconds in which a person may stop the agent from continuing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents.suites.todos.screen import Screen

SECONDS: Final = 3


class Countdown:
    """At most one countdown, by the clock of the event loop, in a task that `spawn` starts."""

    def __init__(self, screen: Screen, spawn: Callable[[Callable[[], Awaitable[None]]], None]) -> None:
        self._screen = screen
        self._spawn = spawn
        self._scope: anyio.CancelScope | None = None

    def start(self, act: Callable[[], None]) -> None:
        """Call `act` when the time is over. Ends an earlier countdown; a screen that fails ends this one."""
        self.stop()
        self._scope = scope = anyio.CancelScope()
        if self._screen.count_down(SECONDS):
            self._spawn(partial(self._run, scope, anyio.current_time(), act))
        else:
            self.stop()

    def stop(self) -> None:
        """End the countdown and clear the screen."""
        if self._scope is not None:
            self._scope.cancel()
            self._scope = None
            self._screen.count_down(None)

    async def _run(self, scope: anyio.CancelScope, began: float, act: Callable[[], None]) -> None:
        with scope:
            for left in reversed(range(SECONDS)):
                await anyio.sleep_until(began + SECONDS - left)
                await checkpoint_if_cancelled()  # by a task that woke in the same moment, a little earlier
                if left and not self._screen.count_down(left):
                    self.stop()
                    return
            self.stop()
            act()
