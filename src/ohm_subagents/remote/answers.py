"""The answers of a submitter to what one of its runs asks."""

from __future__ import annotations

from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.contract.wire import (
    AskMessage,
    CallAsked,
    CallJudged,
    CallWaits,
    Granted,
    Refused,
    RequestAsked,
    RetryJudged,
    ThrottleReported,
    ToolCalled,
    ToolProgressed,
    ToolReturned,
)
from ohm_subagents.plugin import Err, Ok, RequestNeed, ToolCall, ToolResult, result_as_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context
    from decimal import Decimal

    from anyio.abc import TaskGroup

    from ohm_subagents.plugin import Gate, Grant, OhmError, RunRequest
    from ohm_subagents.remote.deposits import Deposits
    from ohm_subagents.remote.link import Link

MADE_ONCE: Final = "The call was interrupted: it may have been made, and was not made again."


class Answers:
    """Carries out what a run asks of its gate and its child tools, each in a task of its own."""

    def __init__(
        self,
        run_key: str,
        request: RunRequest,
        link: Link,
        *,
        deposits: Deposits | None = None,
        on_first: Callable[[], object],
    ) -> None:
        """`on_first` is called with what is asked before `open`, and waits for that."""
        self._key = run_key
        self._request = request
        self._link = link
        self._deposits = deposits
        self._on_first = on_first
        self._run: tuple[Context, TaskGroup] | None = None
        self._is_closed = False
        self._waiting: list[tuple[AskMessage, anyio.CancelScope]] = []
        self._asks: dict[int, anyio.CancelScope] = {}

    def open(self, group: TaskGroup) -> None:
        """Answer in tasks of this group, which `close` ends, and in the context that this is called in."""
        self._run = copy_context(), group
        for ask, scope in self._waiting:
            group.start_soon(self._answer, ask, scope)
        self._waiting.clear()

    def close(self) -> None:
        """Answer nothing any more."""
        self._is_closed = True
        for scope in tuple(self._asks.values()):
            scope.cancel()

    def begin(self, ask: AskMessage) -> None:
        """Answer what a run asks; what it asks again before it has an answer is answered once."""
        if self._is_closed or ask.ask in self._asks:
            return
        scope = self._asks[ask.ask] = anyio.CancelScope(shield=True)
        if self._run is not None:
            context, group = self._run
            context.run(group.start_soon, self._answer, ask, scope)
        else:
            self._waiting.append((ask, scope))
            self._on_first()

    def is_open(self, ask: int) -> bool:
        """Return True if the run still needs what it asked, as far as was heard."""
        return ask in self._asks and not self._asks[ask].cancel_called

    def leave(self, ask: int) -> None:
        """End what was asked: the run no longer needs it."""
        if ask in self._asks:
            self._asks[ask].cancel()

    async def _answer(self, ask: AskMessage, scope: anyio.CancelScope) -> None:
        """Answer what a run asks, until it no longer needs that; not even a cancelled run stops halfway."""
        try:
            with scope:
                await self._answered(ask)
        finally:
            del self._asks[ask.ask]

    async def _answered(self, ask: AskMessage) -> None:
        key, number, gate = self._key, ask.ask, self._request.gate
        match ask:
            case RequestAsked() if gate is not None:
                await self._grant(ask, gate)
            case ThrottleReported() if gate is not None:
                again = await gate.throttled(
                    ask.provider, attempt=ask.attempt, retry_after_s=ask.retry_after_s, status=ask.status
                )
                self._link.send(RetryJudged(run_key=key, ask=number, asks_again=again))
            case CallAsked() if gate is not None:
                waits = partial(self._link.send, CallWaits(run_key=key, ask=number))
                refusal = await gate.tool(
                    ask.tool, ask.arguments, call_id=ask.call_id, on_wait=waits, judged=ask.judged
                )
                self._link.send(CallJudged(run_key=key, ask=number, refusal=refusal))
            case ToolCalled(is_again=True):
                once = ToolResult(text=MADE_ONCE, details={}, is_error=True)
                self._link.send(ToolReturned(run_key=key, ask=number, **result_as_data(once)))
            case ToolCalled():
                result = await self._called(ask)
                self._link.send(ToolReturned(run_key=key, ask=number, **result_as_data(result)))
            case _:
                pass

    async def _grant(self, ask: RequestAsked, gate: Gate) -> None:
        """Reserve a model request, and hold it until the run says that it is over."""
        async with gate.request(_need(ask)) as granted:
            match granted:
                case Ok(grant):
                    lost = await self._prepared(grant)
                    if lost is not None:
                        self._link.send(Refused(run_key=self._key, ask=ask.ask, error=lost))
                        return
                    answer = Granted(
                        run_key=self._key,
                        ask=ask.ask,
                        max_output_tokens=grant.max_output_tokens,
                        is_last=grant.is_last,
                    )
                    self._link.send(answer)
                    await anyio.sleep_forever()
                case Err(error):
                    self._link.send(Refused(run_key=self._key, ask=ask.ask, error=error))

    async def _prepared(self, grant: Grant) -> OhmError | None:
        """Deposit and store what the next submitter has to find: of a lost run, one request at most is not known."""
        if self._request.feed is not None:
            await self._request.feed.stored()
        return None if self._deposits is None else await self._deposits.granted(self._key, grant.budgets)

    async def _called(self, ask: ToolCalled) -> ToolResult:
        tool = next((one for one in self._request.child_tools if one.name == ask.tool), None)
        if tool is None:
            return ToolResult(text=f"There is no tool '{ask.tool}'.", details={}, is_error=True)

        def progressed(frame: ToolResult) -> None:
            self._link.send(ToolProgressed(run_key=self._key, ask=ask.ask, text=frame.text))

        try:
            return await tool.execute(ToolCall(arguments=ask.arguments, on_update=progressed))
        except Exception as error:  # noqa: BLE001  whatever a tool raises is told to the model
            return ToolResult(text=f"{type(error).__name__}: {error}", details={}, is_error=True)


def _need(ask: RequestAsked) -> RequestNeed:
    price = None
    if ask.input_price is not None and ask.output_price is not None:
        asked, thousand = ask.input_price, ask.output_price

        def price_of(_input_tokens: int, output_tokens: int) -> Decimal:
            return asked + thousand * output_tokens / 1000

        price = price_of
    return RequestNeed(
        provider=ask.provider,
        model=ask.model,
        input_tokens=ask.input_tokens,
        max_output_tokens=ask.max_output_tokens,
        price=price,
    )
