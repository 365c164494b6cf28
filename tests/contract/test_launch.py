"""The launch record: equal settings have equal digests, and it survives every store."""

from dataclasses import replace
from decimal import Decimal

import pytest

from ohm_subagents.contract import Budget, CallRules, Clocks, LaunchRecord, ModelPattern

LAUNCH = LaunchRecord(
    profile="finder",
    instructions="0" * 64,
    backend="none",
    model=ModelPattern(provider="acme", model="big", thinking="high"),
    tools=("read", "bash"),
    call_rules=(CallRules(allow=("git diff *",), deny=("git push *",), source="/home/u/ohm.json:3"),),
    permission="default",
    cwd="/work",
    limits=Clocks(cap_ms=5_000),
    budget=Budget(cost_usd=Decimal("2.50")),
    versions={"ohm-subagents": "1", "pydantic-ai-slim": "2"},
)


def test_equal_records_have_equal_digests_whatever_the_order_of_their_versions():
    turned = replace(LAUNCH, versions=dict(reversed(LAUNCH.versions.items())))
    assert turned.digest == LAUNCH.digest
    assert len(LAUNCH.digest) == 64


@pytest.mark.parametrize(
    "changed",
    [
        {"model": ModelPattern(provider="acme", model="big", thinking="low")},
        {"tools": ("read",)},
        {"call_rules": ()},
        {"cwd": "/elsewhere"},
        {"limits": Clocks()},
        {"budget": Budget()},
        {"strict_model": True},
        {"versions": {"ohm-subagents": "2"}},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_each_setting_changes_the_digest(changed):
    assert replace(LAUNCH, **changed).digest != LAUNCH.digest


def test_a_record_is_read_back_as_it_was_written():
    assert LaunchRecord.from_json(LAUNCH.as_json()) == LAUNCH
    assert LaunchRecord.from_json({**LAUNCH.as_json(), "from_the_future": 1}) == LAUNCH


@pytest.mark.parametrize("damaged", [None, "launch", {}, {"profile": 1}])
def test_what_is_no_record_is_none(damaged):
    assert LaunchRecord.from_json(damaged) is None
