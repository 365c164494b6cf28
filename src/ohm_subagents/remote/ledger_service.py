"""A ledger as a service: it answers submitters and runners, and keeps its state before it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import anyio
from pydantic import TypeAdapter

from ohm_subagents.contract.wire import (
    VERSIONS,
    AskLedger,
    BudgetsDeposited,
    DepositBudgets,
    Granted,
    LedgerAnswered,
    RequestAsked,
    WireError,
    dump,
    load,
    load_as,
)
from ohm_subagents.remote.ledger import LedgerState, apply
from ohm_subagents.remote.transport import UndeliveredError

if TYPE_CHECKING:
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.wire import WireObject

_STATE: Final = TypeAdapter(LedgerState)
MAX_WAIT_S: Final = 20.0
LEDGER_IDLE_S: Final = 600.0
"""Seconds without a call after which nobody needs what it knows: submitters that have runs call it more often."""


class KeptState(Protocol):
    """The place where the state of a ledger outlives its process."""

    async def load(self) -> bytes | None:
        """Return what was saved last; None if nothing was."""
        ...

    async def save(self, state: bytes) -> None:
        """Keep this from now on, before the call returns."""
        ...


class LedgerTransport(Protocol):
    """Calls to a ledger, in plain JSON. Raise `UndeliveredError` where a call may not have arrived."""

    async def post(self, frame: WireObject) -> WireObject:
        """Hand a `DepositBudgets` or an `AskLedger` to `LedgerService.post`, and return its answer."""
        ...


class LedgerService:
    """Grants model requests of runs whose submitter is silent, of what that has deposited (`LedgerTransport`).

    Each call may come twice. One whose state cannot be kept fails, and has granted nothing.
    """

    def __init__(self, kept: KeptState, clock: Clock) -> None:
        """`clock` gives the time in epoch milliseconds."""
        self._kept = kept
        self._clock = clock
        self._state: LedgerState | None = None
        self._turn = anyio.Lock()
        self._changed = anyio.Event()
        self._is_closed = False
        self._calls = 0

    async def post(self, frame: WireObject) -> WireObject:
        """Take in a message, and return the answer to it. Raises `WireError` for any other message."""
        self._calls += 1
        message = load(frame)
        match message:
            case DepositBudgets():
                answer = await self._deposited(message)
            case AskLedger():
                answer = await self._asked(message)
            case _:
                wrong = f"A ledger takes no message '{type(message).__name__}'."
                raise WireError(wrong)
        return answer

    async def close_unused(self, for_s: float, *, idle_s: float = LEDGER_IDLE_S) -> None:
        """Wait until it has had no run for so many seconds, or no call for `idle_s`; then it takes nothing in.

        What is left after that was over when its submitter died, or waits for the next one.
        """
        while not self._is_closed:
            async with self._turn:
                state, changed = await self._loaded(), self._changed
            calls = self._calls
            with anyio.move_on_after(idle_s if state.runs else for_s):
                await changed.wait()
            async with self._turn:
                if not changed.is_set() and calls == self._calls:
                    await self._save(state, LedgerState())
                    self._is_closed = True

    async def _deposited(self, message: DepositBudgets) -> WireObject:
        async with self._turn:
            state = await self._loaded()
            state = await self._save(state, apply(state, message))
        answer = BudgetsDeposited(budgets=state.kept_for(message), unsettled=state.unsettled(message.owner))
        return dump(answer, version=VERSIONS[0])

    async def _asked(self, message: AskLedger) -> WireObject:
        asks = [load_as(RequestAsked, one) for one in message.asks]
        granted: list[Granted] = []
        with anyio.move_on_after(min(message.wait_s, MAX_WAIT_S)):
            while True:
                async with self._turn:
                    with anyio.CancelScope(shield=True):  # what is granted is told
                        granted = await self._granted(message, asks)
                    changed = self._changed
                if granted or not asks:
                    break
                await changed.wait()
        answers = tuple(dump(one, version=VERSIONS[0]) for one in granted)
        return dump(LedgerAnswered(answers=answers), version=VERSIONS[0])

    async def _granted(self, message: AskLedger, asks: list[RequestAsked]) -> list[Granted]:
        before = state = await self._loaded()
        for used in message.used:
            state = apply(state, used)
        granted: list[Granted] = []
        for ask in asks:
            fitting = state.fitting(ask, now_ms=self._clock())
            if fitting is not None:
                state = apply(state, fitting)
                most = fitting.max_output_tokens
                granted.append(Granted(run_key=ask.run_key, ask=ask.ask, max_output_tokens=most))
        await self._save(before, state)
        return granted

    async def _loaded(self) -> LedgerState:
        if self._is_closed:
            ended = "The ledger has ended."
            raise UndeliveredError(ended)
        if self._state is None:
            kept = await self._kept.load()
            self._state = _STATE.validate_json(kept) if kept else LedgerState()
        return self._state

    async def _save(self, before: LedgerState, state: LedgerState) -> LedgerState:
        """Keep a state, and go on from it only then."""
        if state != before:
            await self._kept.save(_STATE.dump_json(state))
            self._state = state
            self._changed.set()
            self._changed = anyio.Event()
        return state
