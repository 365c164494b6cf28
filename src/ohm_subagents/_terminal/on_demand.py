"""An `Ohm` for a command that reads, and that a key may make steer."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._concurrency.faults import as_exception, error_line
from ohm_subagents._terminal.command import report

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents import Ohm
    from ohm_subagents._terminal.prompts import Prompts
    from ohm_subagents.contract import Diagnostic


class OhmOnDemand:
    """An `Ohm` that is opened when it is first needed: that takes a while, and loads plugins."""

    def __init__(self, opens: Callable[[], Awaitable[Ohm]]) -> None:
        """`opens` is `Ohm.aopen` with what was typed."""
        self.ohm: Ohm | None = None
        """The one that is open; None as long as nothing has needed it."""
        self.prompts: Prompts | None = None
        """Asks the person about what tasks request that have come to run here."""
        self._opens = opens
        self._turn = anyio.Lock()
        self._asking = ExitStack()
        self._reported: tuple[Diagnostic, ...] = ()

    async def opened(self) -> Ohm | str:
        """Return it, or the sentence that says why it cannot be opened."""
        async with self._turn:
            if self.ohm is not None:
                return self.ohm
            try:
                self.ohm = await self._opens()
            except BaseException as exc:  # noqa: BLE001  `as_exception` raises what is no fault
                return f"Nothing can be steered from here: {error_line(as_exception(exc))}."
            self._reported = self.ohm.diagnostics
            if self.prompts is not None:
                self._asking.enter_context(self.ohm.answering(self.prompts, by="terminal"))
            return self.ohm

    async def aclose(self) -> None:
        """Close the one that was opened, and report what has come up since."""
        if self.ohm is None:
            return
        with anyio.CancelScope(shield=True):
            self._asking.close()
            await self.ohm.aclose()
        report(each for each in self.ohm.diagnostics if each not in self._reported)
