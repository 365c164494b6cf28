"""JSON Schema of the `task` arguments, derived from the fields that validate them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ohm_subagents._tools.arguments import ASYNC
from ohm_subagents._tools.task.inputs import OPS, SendFields, StartBatch, StartSingle, WaitFields


def schema(*, starts_async: bool = False) -> dict[str, Any]:
    """Return a copy of the schema: one flat object with the fields of every op, of which only `op` is required."""
    own: dict[str, Any] = json.loads(_written(starts_async=starts_async))
    return own


@cache  # it never changes, and deriving it takes as long as ten tasks
def _written(*, starts_async: bool) -> str:
    return json.dumps(_derived(starts_async=starts_async))


def _derived(*, starts_async: bool) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1}
    start, batch, wait, send = (
        shape.model_json_schema()["properties"] for shape in (StartSingle, StartBatch, WaitFields, SendFields)
    )

    def described(fields: dict[str, Any], name: str, form: dict[str, Any]) -> dict[str, Any]:
        return {**form, "description": fields[name]["description"]}

    task = {name: described(start, name, text) for name in ("subagent_type", "description", "prompt")}
    flag = {"async": described(start, "async", {"type": "boolean"})}
    if starts_async:
        flag["async"]["description"] = ASYNC
    one = {"type": "object", "properties": task | flag, "required": [*task], "additionalProperties": False}
    properties = {
        "op": {**text, "description": ", ".join(OPS)},
        **task,
        **flag,
        "tasks": described(batch, "tasks", {"type": "array", "minItems": 1, "items": one}),
        "parallel": described(batch, "parallel", {"type": "boolean"}),
        "ids": described(wait, "ids", {"type": "array", "minItems": 1, "items": text}),
        "timeout_ms": described(wait, "timeout_ms", {"type": "integer", "minimum": 1}),
        "id": described(send, "id", text),
    }
    return {"type": "object", "properties": properties, "required": ["op"], "additionalProperties": False}
