"""The state of a ledger: it grants what was deposited, once, and both sides together keep to the limit."""

from decimal import Decimal
from random import Random

import pytest

from ohm_subagents.contract import Remaining
from ohm_subagents.contract.wire import DepositBudgets, RequestAsked, RequestUsed
from ohm_subagents.plugin import Usage
from ohm_subagents.remote.ledger import LedgerState, apply


def asked(key, ask, **more):
    return RequestAsked(run_key=key, n=ask, ask=ask, provider="acme", **more)


def deposited(owner="one", **more):
    return apply(LedgerState(), DepositBudgets(owner=owner, **more))


def granted(state, key, ask, **more):
    fitting = state.fitting(asked(key, ask, **more), now_ms=0)
    return state if fitting is None else apply(state, fitting), fitting


def test_a_budget_is_shared_by_its_runs_and_no_more_than_was_deposited_is_granted():
    state = deposited(budgets={"b": Remaining(requests=3)}, runs={"k1": ("b",), "k2": ("b",)})
    found = []
    for ask in range(1, 4):
        for key in ("k1", "k2"):
            state, fitting = granted(state, key, ask)
            found.append(fitting is not None)
    assert found == [True, True, True, False, False, False]


def test_the_same_ask_is_granted_once():
    state = deposited(budgets={"b": Remaining(requests=1)}, runs={"k": ("b",)})
    state, first = granted(state, "k", 1)
    assert granted(state, "k", 1) == (state, first)


def test_what_a_request_did_not_use_may_be_granted_again():
    state = deposited(budgets={"b": Remaining(tokens=1000)}, runs={"k": ("b",)})
    state, first = granted(state, "k", 1, input_tokens=100)
    assert first.max_output_tokens == 900
    assert granted(state, "k", 2, input_tokens=100)[1] is None
    state = apply(state, RequestUsed(run_key="k", ask=1, usage=Usage(requests=1, input_tokens=100, output_tokens=50)))
    assert granted(state, "k", 2, input_tokens=100)[1].max_output_tokens == 750


def test_a_request_that_has_told_no_usage_counts_as_it_was_reserved():
    state = deposited(budgets={"b": Remaining(requests=2, cost_usd=Decimal(1))}, runs={"k": ("b",)})
    prices = {"input_price": Decimal("0.1"), "output_price": Decimal("1"), "max_output_tokens": 400}
    state, first = granted(state, "k", 1, **prices)
    state = apply(state, RequestUsed(run_key="k", ask=1, usage=Usage()))
    assert (first.usage.cost_usd, state.budgets["b"]) == (
        Decimal("0.5"),
        Remaining(requests=1, cost_usd=Decimal("0.5")),
    )


@pytest.mark.parametrize(
    "part",
    [Remaining(tool_calls=5), Remaining(wall_ends_ms=0), Remaining(requests=0), Remaining(cost_usd=Decimal(1))],
    ids=["tool calls", "time is over", "nothing left", "no known price"],
)
def test_what_cannot_be_kept_waits_for_the_submitter(part):
    state = deposited(budgets={"b": part}, runs={"k": ("b",)})
    assert granted(state, "k", 1)[1] is None


def test_a_run_that_is_claimed_is_granted_nothing_and_nothing_is_granted_of_its_budgets():
    state = deposited(budgets={"b": Remaining(requests=9)}, runs={"k1": ("b",), "k2": ("b",)})
    state, _ = granted(state, "k1", 1)
    state = apply(state, DepositBudgets(owner="two", claims=("k1",)))
    assert [granted(state, key, 2)[1] for key in ("k1", "k2")] == [None, None]
    assert [(one.run_key, one.usage.requests) for one in state.unsettled("two")] == [("k1", 1)]
    late = apply(state, DepositBudgets(owner="one", budgets={"b": Remaining(requests=9)}, runs={"k1": ("b",)}))
    assert granted(late, "k1", 2)[1] is None


def test_what_a_submitter_that_is_gone_had_and_nobody_used_is_forgotten_with_the_first_claim():
    state = deposited(budgets={"b": Remaining(requests=9)}, runs={"k1": ("b",), "k2": ("b",), "k3": ("b",)})
    state, _ = granted(state, "k3", 1)
    state = apply(state, DepositBudgets(owner="two", claims=("k1",)))
    assert {*state.runs} == {"k1", "k3"}


def test_a_ledger_whose_runs_are_over_knows_nothing_any_more():
    state = deposited(budgets={"b": Remaining(requests=9)}, runs={"k": ("b",)})
    assert apply(granted(state, "k", 1)[0], DepositBudgets(owner="one", over=("k",))) == LedgerState()


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(200))
def test_no_more_than_the_limit_is_granted_by_both_in_whatever_order(seed):
    """The submitter keeps to what it may take; the ledger grants what is asked. Both together keep to the limit."""
    chance, limit = Random(seed), 12
    state, runs = deposited(runs={"k1": ("b",), "k2": ("b",)}), ("k1", "k2")
    made, known, kept, pending, last = 0, 0, 0, [], 0  # known: what the submitter has counted
    for _ in range(60):
        match chance.choice(["own", "deposit", "ledger", "hear"]):
            case "own" if known + 1 + kept <= limit:
                made, known = made + 1, known + 1
            case "deposit":
                part = Remaining(requests=chance.randint(0, limit - known))
                kept_before = kept
                message = DepositBudgets(owner="one", budgets={"b": part})
                state = apply(state, message)
                kept = state.kept_for(message)["b"].requests
                assert kept >= min(kept_before, len(pending))
            case "ledger":
                last += 1
                state, fitting = granted(state, chance.choice(runs), last)
                if fitting is not None:
                    made += 1
                    pending.append(fitting)
            case "hear" if pending:
                one = pending.pop(chance.randrange(len(pending)))
                known += 1
                used = RequestUsed(run_key=one.run_key, ask=one.ask, usage=Usage(requests=1))
                state = apply(state, used)
                state = apply(state, DepositBudgets(owner="one", settled={one.run_key: (one.ask,)}))
            case _:
                pass
        assert made <= limit
