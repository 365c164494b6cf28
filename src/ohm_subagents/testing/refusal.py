"""A gate that is shut."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_subagents._plugins.backends.gate import Grant, RequestNeed
    from ohm_subagents.contract.result import Result


class Refusal:
    """A gate that lets nothing through."""

    error = OhmError(code="refused_by_the_gate", message="The budget is spent.")

    def __init__(self) -> None:
        self.needs: list[RequestNeed] = []

    @asynccontextmanager
    async def request(self, need: RequestNeed) -> AsyncGenerator[Result[Grant, OhmError]]:
        """Say no."""
        self.needs.append(need)
        yield Err(self.error)

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        """Nothing is known to be too dear."""
        del need
        return None

    def throttled(self, provider: str, *, attempt: int, retry_after_s: float | None) -> bool:
        """Never again."""
        del provider, attempt, retry_after_s
        return False
