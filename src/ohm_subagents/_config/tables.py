"""The reference tables and the JSON Schema of ohm.json, made from the schema and the table of variables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.env import (
    AGENT_DIRECTORY_VARIABLES,
    CACHE_VARIABLE,
    CHILD_VARIABLE,
    CLONE_VARIABLE,
    DEFAULT_CACHE,
    DEFAULT_DIRECTORY,
    DEPTH_VARIABLE,
    DIRECTORY_VARIABLES,
    MAX_DEPTH_VARIABLE,
    TASK_VARIABLE,
    TRACE_VARIABLES,
    VARIABLES,
)
from ohm_subagents._config.fold import policy
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Final[JsonValue] = {"type": "string"}
_MEMBER: Final[Mapping[str, str]] = {
    "providers": "<name>",
    "mcpServers": "<name>",
    "models": "<name>",
    "maxRequests": "<provider>",
}
_AGENTS: Final = "Of the last two, the first that is set holds `agent-profiles/`, `skills/` and `settings.json`. "
_CACHE: Final = "Its `ohm-subagents/` keeps what `code_search` has read."
_DEPTH: Final = (
    "Depth of this process below subagents: `depth` of `subagents.budget` counts from there. A value that is no "
    "integer, 0 or more, counts as the limit reached."
)

_MAX_DEPTH: Final = "Levels of subagents that the suite `single` allows, in place of `maxDepth` of its config.json."
_CLONE: Final = (
    "The clone that this process works in: tasks here work in it too, and get "
    "[none of their own](../guides/workspaces.md)."
)
_TASK: Final = "The task that this process runs for: tasks here are below it, and what they use counts for it too."
_CHILD: Final = "`1` in a process that was started for a subagent: the suite `single` offers no tool there."
_TRACE: Final = (
    "The OpenTelemetry span that a process is in. `ohm` puts its tasks there, and gives the processes that it starts "
    "the spans of their tasks; without a tracer it passes the variables on."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    path: KeyPath
    accepted: str
    default: str
    meaning: str
    project: str = ""


def config_schema() -> dict[str, JsonValue]:
    """Return the JSON Schema of ohm.json, short forms included."""
    written = OhmConfig.model_json_schema()
    schema: dict[str, JsonValue] = {"$schema": _DIALECT, "title": "ohm.json", **_untitled(written)}
    definitions = _object(schema["$defs"])
    _object(definitions["Subagents"])["additionalProperties"] = {"$ref": "#/$defs/SubagentEntry"}
    _object(schema["properties"])["$schema"] = _TEXT
    for name in ("ProviderModel", "MenuEntry"):
        definitions[name] = {"anyOf": [definitions[name], _TEXT]}
    return schema


def _untitled(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Drop the titles that pydantic makes of names: an editor would show `Taskmaxevents` for `taskMaxEvents`."""
    kept = {key: value for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    return {key: _untitled(value) if isinstance(value, dict) else value for key, value in kept.items()}


def config_table() -> str:
    """Return a Markdown table of every field of ohm.json: its values, default, meaning, and what a project may do."""
    rows = (
        f"| `{'.'.join(row.path)}` | {row.accepted} | {row.default} | {row.meaning} | {row.project} |"
        for row in _rows()
    )
    head = "| field | accepts | default | meaning | a project's file may |"
    return "\n".join((head, "| --- | --- | --- | --- | --- |", *rows))


_DELEGATED: Final = _Row(
    path=("suiteOptions", "delegate", "backend"),
    accepted="text",
    default="",
    meaning="Which backend runs the tasks of `delegate_to_subagents`; without it that of each profile.",
)


def env_table() -> str:
    """Return a Markdown table of every variable: the field that it sets, its default, its meaning."""
    fields = {row.path: row for row in (*_rows(), _DELEGATED)}
    rows = [
        f"| `{one.name}` | `{'.'.join(one.path)}` | {fields[one.path].default} | {fields[one.path].meaning} |"
        for one in VARIABLES
    ]
    rows += [
        f"| `{name}` | | `{DEFAULT_DIRECTORY}` | Holds the user's ohm.json and `subagents/*.md`; {rank} of three. "
        f"{_AGENTS if name in AGENT_DIRECTORY_VARIABLES else ''}|"
        for name, rank in zip(DIRECTORY_VARIABLES, ("first", "second", "third"), strict=True)
    ]
    rows.append(f"| `{CACHE_VARIABLE}` | | `{DEFAULT_CACHE}` | {_CACHE} |")
    rows.append(f"| `{DEPTH_VARIABLE}` | | `0` | {_DEPTH} |")
    rows.append(f"| `{TASK_VARIABLE}` | | | {_TASK} |")
    rows.append(f"| `{CLONE_VARIABLE}` | | | {_CLONE} |")
    rows.append(f"| `{MAX_DEPTH_VARIABLE}` | | | {_MAX_DEPTH} |")
    rows.append(f"| `{CHILD_VARIABLE}` | | | {_CHILD} |")
    rows.append(f"| `{'`, `'.join(TRACE_VARIABLES)}` | | | {_TRACE} |")
    return "\n".join(("| variable | field | default | meaning |", "| --- | --- | --- | --- |", *rows))


def _rows() -> tuple[_Row, ...]:
    schema = config_schema()
    definitions = _object(schema["$defs"])
    return tuple(_walk(schema, (), definitions))


def _walk(
    schema: Mapping[str, JsonValue], path: KeyPath, definitions: Mapping[str, JsonValue], note: str = ""
) -> Iterator[_Row]:
    schema = _resolved(schema, definitions)
    note = note or str(schema.get("$comment", ""))
    members = _object(schema.get("additionalProperties"))
    properties = _object(schema.get("properties"))
    inner = _resolved(members, definitions)
    if properties or inner.get("properties"):
        for name, one in properties.items():
            if "$ref" not in members or name != "profiles":  # the long form of `subagents.<id>`
                yield from _walk(_object(one), (*path, name), definitions, note)
        if members:
            yield from _walk(members, (*path, _MEMBER.get(path[-1], "<id>")), definitions, note)
    elif inner.get("enum") or "minimum" in inner:
        about = {"description": schema["description"], **members} if "description" in schema else members
        yield from _walk(about, (*path, _MEMBER.get(path[-1], "<id>")), definitions, note)
    elif path != ("$schema",):
        meaning = " ".join(filter(None, (str(schema.get("description", "")), note)))
        written = ("subagents", "profiles", *path[1:]) if path[:2] == ("subagents", "<id>") else path
        yield _Row(
            path=path,
            accepted=_accepted(schema),
            default=_default(schema),
            meaning=meaning,
            project=policy(OhmConfig, written).project,
        )


def _resolved(schema: Mapping[str, JsonValue], definitions: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the schema behind a reference or an `X or null`, with its own description and default."""
    options = schema.get("anyOf")
    if isinstance(options, list):
        some = next(_object(one) for one in options if _object(one).get("type") != "null")
        return {**_resolved(some, definitions), **{key: value for key, value in schema.items() if key != "anyOf"}}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return {**_resolved(_object(definitions[reference.rpartition("/")[2]]), definitions), **schema}
    return schema


def _accepted(schema: Mapping[str, JsonValue]) -> str:
    choices = schema.get("enum")
    if isinstance(choices, list):
        return ", ".join(f"`{choice}`" for choice in choices)
    if "exclusiveMinimum" in schema:
        return "number or decimal text above 0"
    if "minimum" in schema:
        return "positive integer" if schema["minimum"] else "integer, 0 or more"
    if "format" in schema:
        return f"`{schema['format']}`"
    names = {"boolean": "`true`, `false`", "string": "text", "array": "list", "object": "object"}
    kinds = schema["type"]
    return " or ".join(names[str(kind)] for kind in (kinds if isinstance(kinds, list) else [kinds]))


def _default(schema: Mapping[str, JsonValue]) -> str:
    value = schema.get("default")
    return "" if value is None or value in ("", [], {}) else f"`{json.dumps(value)}`"


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}
