"""The environment: one table of variables, and the only reader of the process's own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from ohm_subagents._config.layers import Layer, Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An environment variable and the field of the configuration that it sets; what it may hold is the field's rule."""

    name: str
    path: KeyPath
    kind: Literal["integer", "text", "list"] = "integer"


VARIABLES: Final = (
    Variable(name="OHM_MODEL", path=("subagents", "model"), kind="text"),
    Variable(name="OHM_SUBAGENTS_OUTPUT_MAX_CHARS", path=("outputMaxChars",)),
    Variable(name="OHM_SUBAGENTS_ONUPDATE_THROTTLE_MS", path=("onupdateThrottleMs",)),
    Variable(name="OHM_SUBAGENTS_BACKEND_TIMEOUT_MS", path=("backendTimeoutMs",)),
    Variable(name="OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI", path=("sdkFallbackToCli",), kind="text"),
    Variable(name="OHM_SUBAGENTS_TASK_RETENTION_MS", path=("subagents", "taskRetentionMs")),
    Variable(name="OHM_SUBAGENTS_TASK_MAX_EVENTS", path=("taskMaxEvents",)),
    Variable(name="OHM_SUBAGENTS_TASK_MAX_ENTRIES", path=("taskMaxEntries",)),
    Variable(name="OHM_SUBAGENTS_TASK_MAX_EXPIRED_ENTRIES", path=("taskMaxExpiredEntries",)),
    Variable(name="OHM_SUBAGENTS_RESULT_PREVIEW_LINES", path=("resultPreviewLines",)),
    Variable(name="OHM_SUBAGENTS_TRANSCRIPT_TAIL_LINES", path=("transcriptTailLines",)),
    Variable(name="OHM_SUBAGENTS_UI_MODE", path=("uiMode",), kind="text"),
    Variable(name="OHM_SUBAGENTS_UI_UPDATE_MS", path=("uiUpdateMs",)),
    Variable(name="OHM_SUBAGENTS_UI_IDLE_GRACE_MS", path=("uiIdleGraceMs",)),
    Variable(name="OHM_SUBAGENTS_LOAD_PLUGINS", path=("loadPlugins",), kind="list"),
    Variable(name="OHM_SUBAGENTS_BLOCK_PLUGINS", path=("blockPlugins",), kind="list"),
    Variable(name="OHM_DEBUG", path=("debug",), kind="text"),
)

DIRECTORY_VARIABLES: Final = ("PI_CONFIG_DIR", "PI_CODING_AGENT_DIR", "PI_AGENT_DIR")
DEFAULT_DIRECTORY: Final = "~/.pi/agent"


def process_env() -> Mapping[str, str]:
    """A copy of the process's environment."""
    return dict(os.environ)  # noqa: TID251  this is the one place


def config_dir(env: Mapping[str, str]) -> Path:
    """Where the user's ohm.json, profiles and task records are: the first variable that is set, else the default."""
    given = (env.get(name, "").strip() for name in DIRECTORY_VARIABLES)
    return expanded(next((text for text in given if text), DEFAULT_DIRECTORY), env)


def expanded(path: str, env: Mapping[str, str]) -> Path:
    """The path with a leading `~` replaced by the home directory of `env`."""
    if path != "~" and not path.startswith("~/"):
        return Path(path)
    home = env.get("HOME", "").strip()
    return (Path(home) if home else Path.home()) / path[2:]


def environment(env: Mapping[str, str]) -> Layer:
    """The variables as a layer of raw values; a blank variable is an unset one."""
    values: dict[str, JsonValue] = {}
    places: dict[KeyPath, Place] = {}
    for variable in VARIABLES:
        text = env.get(variable.name, "").strip()
        if not text:
            continue
        section = values
        for part in variable.path[:-1]:
            inner = section.setdefault(part, {})
            section = inner if isinstance(inner, dict) else section
        section[variable.path[-1]] = _read(text, variable.kind)
        places[variable.path] = Place(source=f"env {variable.name}", key=variable.name)
    return Layer(kind="environment", source="env", values=values, places=places)


def _read(text: str, kind: Literal["integer", "text", "list"]) -> JsonValue:
    match kind:
        case "integer":
            return int(text) if text.isascii() and text.isdigit() and len(text) <= 16 else text
        case "list":
            return [part.strip() for part in text.split(",") if part.strip()]
        case "text":
            return text
