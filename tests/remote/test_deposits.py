"""A submitter deposits parts of its budgets with a ledger, in virtual time: what it waits for, and how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from ohm_subagents.contract.account import Remaining
from ohm_subagents.contract.wire import VERSIONS, AskLedger, DepositBudgets, RequestAsked, RequestUsed, dump
from ohm_subagents.remote import Deposits, LedgerService, Patience, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ohm_subagents.contract.wire import WireMessage, WireObject
    from ohm_subagents.plugin import OhmError
    from ohm_subagents.remote import LedgerTransport

pytestmark = pytest.mark.anyio
SHORT = Patience(retry_s=0.01, lost_s=1)
EMPTY = b'{"budgets":{},"runs":{}}'


@pytest.fixture
def anyio_backend(virtual_time: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
    """Nothing here is waited for in real time."""
    return virtual_time


class Ledger:
    """A ledger in this process that begins when it is needed, and what it keeps."""

    def __init__(self, *, is_down: bool = False) -> None:
        self.state: bytes | None = None
        self.calls = 0
        self.is_begun = self.is_down = is_down
        self.service = LedgerService(self, lambda: 0)

    async def load(self) -> bytes | None:
        return self.state

    async def save(self, state: bytes) -> None:
        self.state = state

    async def found(self, *, is_begun: bool) -> LedgerTransport | None:
        self.is_begun |= is_begun
        return self if self.is_begun else None

    async def post(self, frame: WireObject) -> WireObject:
        if self.is_down:
            raise UndeliveredError
        self.calls += 1
        return await self.service.post(frame)

    async def told(self, message: WireMessage) -> WireObject:
        return await self.post(dump(message, version=VERSIONS[0]))


class Purse:
    """A budget of requests, of which so many are left (`OpenBudget`)."""

    key = "purse"

    def __init__(self, left: int) -> None:
        self.left = left
        self.cover: Callable[[], Awaitable[OhmError | None]] | None = None

    def rest(self) -> Remaining:
        return Remaining(requests=self.left)

    async def covered(self) -> OhmError | None:
        return None if self.cover is None else await self.cover()


class Unheard:
    """A run that has heard of nothing."""

    def settle(self, asks: Sequence[int]) -> None:
        pass


async def test_who_waits_for_what_the_ledger_has_granted_goes_on_once_the_runner_has_given_it_back() -> None:
    ledger, purse = Ledger(), Purse(4)
    async with anyio.create_task_group() as group:
        deposits = Deposits(ledger, group, SHORT, after_s=1)
        deposits.open("run", Unheard())
        await deposits.granted("run", [purse])
        asks = [RequestAsked(run_key="run", n=n, ask=n, provider="acme", model="m", input_tokens=1) for n in (1, 2, 3)]
        await ledger.told(AskLedger(asks=tuple(dump(one, version=VERSIONS[0]) for one in asks)))
        purse.left, told = 1, ledger.calls
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(purse.covered)
            while ledger.calls == told:
                await anyio.lowlevel.checkpoint()
            await ledger.told(AskLedger(used=tuple(RequestUsed(run_key="run", ask=one.ask) for one in asks)))
        group.cancel_scope.cancel()


async def test_a_ledger_that_does_not_answer_is_told_of_and_not_waited_for_without_limit() -> None:
    ledger, purse = Ledger(is_down=True), Purse(4)
    async with anyio.create_task_group() as group:
        deposits = Deposits(ledger, group, SHORT, after_s=1)
        deposits.open("run", Unheard())
        lost = await deposits.granted("run", [purse])
        assert lost is not None
        assert ("has not answered for 1 s" in lost.message, lost.retryable, ledger.state) == (True, True, None)
        assert (await deposits.claim({"other": 0})).unwrap_err() == lost
        purse.left = 1
        assert await purse.covered() == lost
        ledger.is_down = False
        assert (await deposits.granted("run", [purse]), ledger.state is None) == (None, False)
        group.cancel_scope.cancel()


async def test_all_who_wait_for_one_call_of_a_ledger_hear_together_that_it_does_not_answer() -> None:
    ledger, told = Ledger(is_down=True), list["OhmError | None"]()
    async with anyio.create_task_group() as group:
        deposits = Deposits(ledger, group, SHORT, after_s=1)

        async def ask(key: str) -> None:
            deposits.open(key, Unheard())
            told.append(await deposits.granted(key, [Purse(4)]))

        async with anyio.create_task_group() as waiting:
            for number in range(100):
                waiting.start_soon(ask, f"run {number}")
        assert told[0] is not None
        assert [one is told[0] for one in told] == [True] * 100
        group.cancel_scope.cancel()


async def test_a_ledger_that_nobody_has_told_of_an_end_closes_after_a_time_without_a_call() -> None:
    ledger = Ledger()
    await ledger.told(DepositBudgets(owner="gone", budgets={"purse": Remaining(requests=4)}, runs={"run": ("purse",)}))
    await ledger.service.close_unused(1000, idle_s=60)
    assert ledger.state == EMPTY


async def test_a_ledger_stays_as_long_as_a_program_has_runs_and_ends_some_time_after_that() -> None:
    ledger, closed = Ledger(), anyio.Event()

    async def close() -> None:
        await ledger.service.close_unused(5, idle_s=60)
        closed.set()

    async with anyio.create_task_group() as closing:
        async with anyio.create_task_group() as program:
            deposits = Deposits(ledger, program, SHORT, after_s=1, idle_s=60)
            deposits.open("run", Unheard())
            assert await deposits.granted("run", [Purse(4)]) is None
            closing.start_soon(close)
            await anyio.sleep(600)
            assert not closed.is_set()
            program.cancel_scope.cancel()
        with anyio.fail_after(61):
            await closed.wait()
