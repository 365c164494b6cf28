"""The debug text of an envelope: every documented key, a line each (`OHM_DEBUG`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import printable
from ohm_subagents.contract.envelope import BatchEnvelope, Envelope, StatusEnvelope, WaitEnvelope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents.contract.envelope import AnyEnvelope, Item

ORDER: Final = (
    "summary",
    "task_id",
    "subagent_type",
    "prompt",
    "description",
    "status",
    "backend",
    "provider",
    "model",
    "runtime",
    "route",
    "invocation",
    "wait_status",
    "done",
    "cancel_applied",
    "prior_status",
    "total_count",
    "accepted_count",
    "rejected_count",
    "batch_status",
    "error_code",
    "error_category",
    "error_message",
    "event_count",
    "assistant_text",
)
"""The keys of an envelope that are a line each; `timed_out` follows when it is true, then the blocks."""

ITEM_ORDER: Final = ("summary", "backend", "provider", "model", "runtime", "route", "prompt")
"""The keys of an item that stand above its output; `ITEM_END` is below it, and its tool rows are last."""

ITEM_END: Final = ("error_code", "error_category", "error_message", "event_count", "assistant_text")

CUT: Final = ("output_truncated", "output_total_chars", "output_returned_chars")


def debug_text(envelope: AnyEnvelope, *, expanded: bool) -> str:
    """Write the documented keys of an envelope, in one order; `expanded` shows all of an item too.

    Keys that we add to task.v1 are not in it: they are in `details`.
    """
    fields = envelope.payload()
    lines = _lines(fields, ORDER)
    if fields.get("timed_out"):
        lines.append("timed_out: true")
    for block in (_rows(fields), _output(fields), _items(envelope, expanded=expanded)):
        if block:
            lines += ["", *block]
    return printable("\n".join(lines))


def _items(envelope: AnyEnvelope, *, expanded: bool) -> list[str]:
    match envelope:
        case BatchEnvelope(items=items) | StatusEnvelope(items=items) | WaitEnvelope(items=items):
            return ["items:", *(line for item in items for line in _item(item, expanded=expanded))]
        case Envelope():
            return []


def _item(item: Item, *, expanded: bool) -> list[str]:
    if not item.found:
        return [f"- {item.id}: unknown ({item.error_code})"]
    fields = item.payload()
    children = _output(fields)
    if expanded:
        children = [*_lines(fields, ITEM_ORDER), *children, *_lines(fields, ITEM_END), *_rows(fields)]
    about = f" · {item.description}" if item.description else ""
    return [f"- {item.id}: {item.status} {item.subagent_type}{about}", *(f"  {line}" for line in children)]


def _lines(fields: Mapping[str, JsonValue], keys: tuple[str, ...]) -> list[str]:
    return [f"{key}: {_shown(fields[key])}" for key in keys if fields.get(key) not in (None, "")]


def _rows(fields: Mapping[str, JsonValue]) -> list[str]:
    rows = fields.get("tool_rows")
    return ["tool_rows:", *(f"- {row}" for row in rows)] if isinstance(rows, list) and rows else []


def _output(fields: Mapping[str, JsonValue]) -> list[str]:
    output = fields.get("output")
    if not isinstance(output, str):
        return []
    return ["output:", *output.split("\n"), *(_lines(fields, CUT) if fields.get("output_truncated") else [])]


def _shown(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
