"""Gates that always give the same answer."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from ohm_subagents._plugins.backends.gate import Grant
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.backends.gate import RequestNeed
    from ohm_subagents.contract.profile import Decision
    from ohm_subagents.contract.result import Result


class _Gate:
    """The part that is the same of each."""

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        """Nothing is known to be too dear."""
        del need
        return None

    async def throttled(
        self, provider: str, *, attempt: int, retry_after_s: float | None, status: int | None = None
    ) -> bool:
        """Never again."""
        del provider, attempt, retry_after_s, status
        return False


class Refusal(_Gate):
    """A gate that lets nothing through."""

    error = OhmError(code="refused_by_the_gate", message="The budget is spent.")

    def __init__(self) -> None:
        self.needs: list[RequestNeed] = []

    @asynccontextmanager
    async def request(self, need: RequestNeed) -> AsyncGenerator[Result[Grant, OhmError]]:
        """Say no."""
        self.needs.append(need)
        yield Err(self.error)

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str = "",
        on_wait: Callable[[], None] | None = None,
        judged: Decision | None = None,
    ) -> str | None:
        """Let every call through."""
        del name, arguments, call_id, on_wait, judged
        await checkpoint()
        return None


class Judge(_Gate):
    """A gate that lets every model request through, and gives all calls of tools the same answer."""

    def __init__(self, refusal: str | None, runs: Callable[[], int]) -> None:
        """`refusal`: the sentence that refuses calls; None lets them through. `runs`: how often the tool has run."""
        self._refusal = refusal
        self._runs = runs
        self.asked: list[tuple[str, int]] = []
        """The tools that were asked about, each with how often it had run by then."""

    @asynccontextmanager
    async def request(self, need: RequestNeed) -> AsyncGenerator[Result[Grant, OhmError]]:
        """Grant it."""
        del need
        yield Ok(Grant())

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str = "",
        on_wait: Callable[[], None] | None = None,
        judged: Decision | None = None,
    ) -> str | None:
        """Give the answer, after others had their turn."""
        del arguments, call_id, on_wait, judged
        await checkpoint()
        self.asked.append((name, self._runs()))
        return self._refusal
