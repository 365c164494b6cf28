"""JSON Schema of the `task` arguments: what a model is told of the fields that validate them.

Fields that only programs and people set, as `isolation`, are in none of its forms.
"""

from __future__ import annotations

import json
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, get_args

from ohm_subagents._tools.arguments import ASYNC
from ohm_subagents._tools.task.fields import (
    AnswerFields,
    Decision,
    SendFields,
    StartBatch,
    StartSingle,
    TaskScope,
    WaitFields,
)
from ohm_subagents._tools.task.inputs import told_ops
from ohm_subagents.contract.commands import WaitMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

_NO_MODELS: Final[Mapping[str, str]] = MappingProxyType({})


def schema(
    *, starts_async: bool = False, answers: bool = False, lands: bool = False, models: Mapping[str, str] = _NO_MODELS
) -> dict[str, Any]:
    """Return a copy of the schema: one flat object with the fields of every op, of which only `op` is required.

    `models` says of each name that `model` may have which model that is; without any, there is no such field.
    """
    own: dict[str, Any] = json.loads(
        _written(starts_async=starts_async, answers=answers, lands=lands, models=tuple(models.items()))
    )
    return own


@cache  # it never changes, and deriving it takes as long as ten tasks
def _written(*, starts_async: bool, answers: bool, lands: bool, models: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(_derived(starts_async=starts_async, answers=answers, lands=lands, models=dict(models)))


def _derived(*, starts_async: bool, answers: bool, lands: bool, models: Mapping[str, str]) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1}
    start, batch, wait, send, said = (
        _descriptions(fields) for fields in (StartSingle, StartBatch, WaitFields, SendFields, AnswerFields)
    )

    def described(fields: Mapping[str, str | None], name: str, form: dict[str, Any]) -> dict[str, Any]:
        return {**form, "description": fields[name]}

    task = {name: described(start, name, text) for name in ("subagent_type", "description", "prompt")}
    flag = {"async": described(start, "async", {"type": "boolean"})}
    if starts_async:
        flag["async"]["description"] = ASYNC
    if models:
        meanings = ", ".join(f"{name} ({model})" for name, model in models.items())
        flag["model"] = described(start, "model", {"type": "string", "enum": [*models]})
        flag["model"]["description"] += f" {meanings}."
    one = {"type": "object", "properties": task | flag, "required": [*task], "additionalProperties": False}
    properties = {
        "op": {**text, "description": ", ".join(told_ops(answers=answers, lands=lands))},
        **task,
        **flag,
        "tasks": described(batch, "tasks", {"type": "array", "minItems": 1, "items": one}),
        "parallel": described(batch, "parallel", {"type": "boolean"}),
        "ids": described(wait, "ids", {"type": "array", "minItems": 1, "items": text}),
        "timeout_ms": described(wait, "timeout_ms", {"type": "integer", "minimum": 1}),
        "id": described(send, "id", text),
    }
    if starts_async:
        properties["mode"] = described(wait, "mode", {"type": "string", "enum": [*get_args(WaitMode)]})
    if answers:
        properties["request"] = described(said, "request", text)
        properties["decision"] = described(said, "decision", {"type": "string", "enum": [*get_args(Decision)]})
        properties["scope"] = described(said, "scope", {"type": "string", "enum": [*get_args(TaskScope)]})
        properties["text"] = described(said, "text", {"type": "string"})
    return {"type": "object", "properties": properties, "required": ["op"], "additionalProperties": False}


def _descriptions(fields: type[BaseModel]) -> Mapping[str, str | None]:
    """Return the description of each field, by the name that arguments have for it; pydantic builds nothing for it."""
    return {field.alias or name: field.description for name, field in fields.model_fields.items()}
