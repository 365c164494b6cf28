"""Arguments that a tool does not have: told beside its result, never dropped in silence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from ohm_subagents._tools.arguments import unknown_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents._plugins.suites.tool import Tool, ToolCall, ToolResult


def telling_unknown_keys(tool: Tool, *, is_deep: bool = True) -> Tool:
    """Return a tool that adds a note to its text for each argument that its schema does not have.

    For a tool with `checks_arguments` that ignores them. Without `is_deep` it notes those at the top alone.
    """

    return replace(tool, execute=partial(_told, tool, is_deep))


async def _told(tool: Tool, is_deep: bool, call: ToolCall) -> ToolResult:  # noqa: FBT001  bound above
    result = await tool.execute(call)
    notes = [unknown_key(path) for path in unknown_keys(tool.input_schema, call.arguments, is_deep=is_deep)]
    if not notes:
        return result
    return replace(result, text="\n".join([result.text, *(f"note: {note}" for note in notes)]))


def unknown_keys(schema: object, value: object, path: str = "", *, is_deep: bool = True) -> Iterator[str]:
    """Yield the path of each key that the properties of a JSON schema do not have; without `properties`, any may be."""
    if not isinstance(schema, Mapping):
        return
    shape = cast("Mapping[str, object]", schema)
    known, items = shape.get("properties"), shape.get("items")
    if isinstance(value, Mapping) and isinstance(known, Mapping):
        fields = cast("Mapping[str, object]", known)
        for key, inner in cast("Mapping[str, object]", value).items():
            if key not in fields:
                yield f"{path}{key}"
            elif is_deep:
                yield from unknown_keys(fields[key], inner, f"{path}{key}.")
    elif isinstance(value, list) and items is not None:
        for index, inner in enumerate(cast("list[object]", value)):
            yield from unknown_keys(items, inner, f"{path}{index}.")
