from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ohm_subagents._views.debug import CUT, ITEM_END, ITEM_ORDER, ORDER, debug_text
from ohm_subagents.contract.envelope import (
    ADDITIONS,
    BatchEnvelope,
    CancelEnvelope,
    Envelope,
    Item,
    StatusEnvelope,
    WaitEnvelope,
)

RECORDED = json.loads((Path(__file__).parent / "debug_text.json").read_text(encoding="utf-8"))
BLOCKS = {"tool_rows", "output", "items", "timed_out"}
UNSHOWN = {"contract_version", "op", "output_available", "id", "found", "updated_at_epoch_ms", "ended_at_epoch_ms"}


def envelope_of(details: dict[str, Any]):
    if "items" in details:
        kinds = {"start": BatchEnvelope, "status": StatusEnvelope, "wait": WaitEnvelope}
        return kinds[details["op"]].model_validate(details)
    return (CancelEnvelope if "cancel_applied" in details else Envelope).model_validate(details)


@pytest.mark.parametrize("vector", RECORDED, ids=[vector["name"] for vector in RECORDED])
def test_an_envelope_reads_as_recorded(vector) -> None:
    envelope = envelope_of(vector["details"])
    assert debug_text(envelope, expanded=False) == vector["collapsed"]
    assert debug_text(envelope, expanded=True) == vector["expanded"]


def test_every_documented_key_has_its_place() -> None:
    shown = {*ORDER, *CUT, *BLOCKS}
    for kind in (Envelope, CancelEnvelope, BatchEnvelope, StatusEnvelope, WaitEnvelope):
        assert set(kind.model_fields) - ADDITIONS <= shown | UNSHOWN
    assert shown <= {name for kind in (CancelEnvelope, BatchEnvelope, WaitEnvelope) for name in kind.model_fields}
    head = {"status", "subagent_type", "description", "invocation"}  # in the line of the item, and in its task's own
    assert set(Item.model_fields) - ADDITIONS == {*ITEM_ORDER, *ITEM_END, *CUT, "tool_rows", "output"} | head | (
        UNSHOWN - {"contract_version", "op"}
    )


def test_what_a_subagent_read_cannot_drive_the_terminal() -> None:
    details = next(vector["details"] for vector in RECORDED if "output" in vector["details"])
    text = debug_text(envelope_of({**details, "output": "\x1b[2Jfound"}), expanded=False)
    assert text.endswith("output:\nfound")


def test_a_cancel_tells_what_it_did_between_the_route_and_the_error() -> None:
    head = {"op": "cancel", "status": "cancelled", "summary": "s", "backend": "b"}
    route = {"provider": "p", "model": "m", "runtime": "r", "route": "r"}
    envelope = CancelEnvelope.model_validate(
        {**head, **route, "cancel_applied": False, "prior_status": "failed", "error_code": "c", "event_count": 0}
    )
    assert debug_text(envelope, expanded=False).splitlines()[-5:] == [
        "route: r",
        "cancel_applied: false",
        "prior_status: failed",
        "error_code: c",
        "event_count: 0",
    ]
