"""The envelope is a contract: its JSON Schema is in the repository, and a changed field name is a changed contract.

`python tests/contract/test_envelope_schema.py` writes the schema, after a change that is meant.
"""

import json
from pathlib import Path

from ohm_subagents.contract import ADDITIONS, envelope_schema

SCHEMA = Path(__file__).with_name("envelope.schema.json")
DOCUMENTED = set(
    """
    contract_version op status summary backend provider model runtime route
    task_id subagent_type prompt description invocation
    output_available output output_truncated output_total_chars output_returned_chars
    tool_rows event_count assistant_text
    error_code error_category error_message
    items total_count accepted_count rejected_count batch_status
    timed_out done wait_status
    cancel_applied prior_status
    id found updated_at_epoch_ms ended_at_epoch_ms
    """.split()  # noqa: SIM905  a list of forty names reads best as text
)


def published() -> str:
    return json.dumps(envelope_schema(), indent=2, sort_keys=True) + "\n"


def keys(part: str) -> dict[str, set[str]]:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return {name: set(one[part]) for name, one in schema["$defs"].items() if part in one}


def test_the_schema_of_every_envelope_is_the_one_in_the_repository():
    assert published() == SCHEMA.read_text(encoding="utf-8"), f"run: python tests/contract/{Path(__file__).name}"


def test_every_key_is_documented_or_declared_as_an_addition():
    of_models = keys("properties")
    usage, counts, remaining = (of_models.pop(name) for name in ("UsageBlock", "UsageCounts", "RemainingBlock"))
    model_use, request = of_models.pop("ModelUse"), of_models.pop("RequestBlock")
    workspace = of_models.pop("WorkspaceBlock")
    verification, check = of_models.pop("VerificationBlock"), of_models.pop("CheckBlock")
    assert {"id", "kind", "tool", "arguments", "question", "options", "reason", "expires_at_epoch_ms"} == request
    assert set().union(*of_models.values()) == DOCUMENTED | ADDITIONS
    assert counts == {"requests", "input_tokens", "output_tokens", "cached_tokens", "tool_calls", "cost_usd"}
    assert usage == counts | {"own", "tree"}
    assert model_use == {"model", "why"}
    assert verification == {"attempts", "why", "checks"}
    assert check == {"check", "verdict", "why", "exit_code", "duration_ms", "output"}
    assert workspace == {"base", "ref", "files", "insertions", "deletions", "landed", "conflicts"}
    assert remaining == {"requests", "tokens", "cost_usd", "tool_calls", "spawns", "wall_ms"}


def test_what_is_on_every_result_is_required_of_every_envelope():
    base = {"contract_version", "op", "status", "summary", "backend", "provider", "model", "runtime", "route"}
    required = keys("required")
    envelopes = ("Envelope", "CancelEnvelope", "BatchEnvelope", "StatusEnvelope", "WaitEnvelope")
    defaulted = {"contract_version", "op", "timed_out"}
    assert [name for name in envelopes if not base - defaulted <= required[name]] == []
    assert required["Item"] >= {"id", "found", "summary", "provider", "model", "runtime", "route"}


if __name__ == "__main__":
    SCHEMA.write_text(published(), encoding="utf-8")
