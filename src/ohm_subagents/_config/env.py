"""The environment: one table of variables, and the only reader of the process's own."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from ohm_subagents._config.layers import Layer, Location
from ohm_subagents._config.values import quoted_value
from ohm_subagents._records import dataclass
from ohm_subagents.contract.place import Nesting
from ohm_subagents.contract.tool_ceiling import Delegation, ToolCeiling, delegation_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents.contract.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An environment variable that sets a field of the configuration."""

    name: str
    """Its name."""
    path: KeyPath
    """The field that it sets, whose rule its value has to follow."""
    kind: Literal["integer", "text", "list"] = "integer"
    """The form of its text; the items of a list are separated by commas."""
    blank_counts: bool = False
    """A blank one is set, and not unset."""


DELEGATE_BACKEND: Final = "OHM_SUBAGENTS_DELEGATE_BACKEND"
VARIABLES: Final = (
    Variable(name="OHM_MODEL", path=("subagents", "model"), kind="text"),
    Variable(name="OHM_SUBAGENTS_OUTPUT_MAX_CHARS", path=("outputMaxChars",)),
    Variable(name="OHM_SUBAGENTS_ONUPDATE_THROTTLE_MS", path=("onupdateThrottleMs",)),
    Variable(name="OHM_SUBAGENTS_BACKEND_TIMEOUT_MS", path=("backendTimeoutMs",)),
    Variable(name="OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI", path=("sdkFallbackToCli",), kind="text"),
    Variable(name=DELEGATE_BACKEND, path=("suiteOptions", "delegate", "backend"), kind="text"),
    Variable(name="OHM_SERVER", path=("subagents", "server"), kind="text"),
    Variable(name="OHM_SUBAGENTS_STORE", path=("subagents", "store"), kind="text"),
    Variable(name="OHM_SUBAGENTS_TASK_RETENTION_MS", path=("subagents", "taskRetentionMs")),
    Variable(name="OHM_SUBAGENTS_TASK_MAX_EVENTS", path=("taskMaxEvents",)),
    Variable(name="OHM_SUBAGENTS_TASK_MAX_ENTRIES", path=("taskMaxEntries",)),
    Variable(name="OHM_SUBAGENTS_TASK_MAX_EXPIRED_ENTRIES", path=("taskMaxExpiredEntries",)),
    Variable(name="OHM_SUBAGENTS_RESULT_PREVIEW_LINES", path=("resultPreviewLines",)),
    Variable(name="OHM_SUBAGENTS_TRANSCRIPT_TAIL_LINES", path=("transcriptTailLines",)),
    Variable(name="OHM_SUBAGENTS_UI_MODE", path=("uiMode",), kind="text"),
    Variable(name="OHM_SUBAGENTS_UI_UPDATE_MS", path=("uiUpdateMs",)),
    Variable(name="OHM_SUBAGENTS_UI_IDLE_GRACE_MS", path=("uiIdleGraceMs",)),
    Variable(name="OHM_SUBAGENTS_LOAD_PLUGINS", path=("loadPlugins",), kind="list", blank_counts=True),
    Variable(name="OHM_SUBAGENTS_BLOCK_PLUGINS", path=("blockPlugins",), kind="list"),
    Variable(name="OHM_DEBUG", path=("debug",), kind="text"),
)

_INTEGER: Final = re.compile(r"[0-9]{1,20}")

DIRECTORY_VARIABLES: Final = ("PI_CONFIG_DIR", "PI_CODING_AGENT_DIR", "PI_AGENT_DIR")
"""The variables that name our configuration directory; the first that is set counts."""
AGENT_DIRECTORY_VARIABLES: Final = ("PI_CODING_AGENT_DIR", "PI_AGENT_DIR")
DEFAULT_DIRECTORY: Final = "~/.pi/agent"
CACHE_VARIABLE: Final = "XDG_CACHE_HOME"
DEFAULT_CACHE: Final = "~/.cache"
DEPTH_VARIABLE: Final = "PI_SUBAGENT_DEPTH"
MAX_DEPTH_VARIABLE: Final = "PI_SUBAGENT_MAX_DEPTH"
CHILD_VARIABLE: Final = "PI_SUBAGENT_CHILD"
TASK_VARIABLE: Final = "OHM_SUBAGENT_TASK"
"""The variable by which a process inside of a subagent learns the id of its task, for which its own tasks count."""
CLONE_VARIABLE: Final = "OHM_SUBAGENT_CLONE"
"""The variable by which a process inside of a subagent learns the clone that it works in."""
CEILING_VARIABLE: Final = "OHM_SUBAGENT_CEILING"
"""The variable by which a process inside of a subagent learns what its own subagents may do at most."""
_NOTHING: Final = Delegation(own=ToolCeiling(names=(), holder="the process around this one"))
TRACE_VARIABLES: Final = ("TRACEPARENT", "TRACESTATE", "BAGGAGE")
"""The variables by which a process learns which span it is in, as OpenTelemetry defines them."""
_DEPTH: Final = re.compile(r"[0-9]{1,6}")


def process_env() -> Mapping[str, str]:
    """Return a copy of the process's environment."""
    return dict(os.environ)  # noqa: TID251  this is the one place


def config_dir(env: Mapping[str, str]) -> Path:
    """Return the directory of the user's ohm.json, profiles and tasks: the first variable that is set, or a default."""
    return _first(DIRECTORY_VARIABLES, env)


def agent_dir(env: Mapping[str, str]) -> Path:
    """Return the directory of the coding agent's settings, agent profiles and skills."""
    return _first(AGENT_DIRECTORY_VARIABLES, env)


def cache_dir(env: Mapping[str, str]) -> Path | None:
    """Return the user's cache directory; None if `env` names neither that nor a home.

    The home of the process does not count: who gives an environment without one wants nothing written there.
    """
    given = Path(env.get(CACHE_VARIABLE, "").strip())
    if not given.is_absolute():  # as the specification of that variable demands
        home = Path(env.get("HOME", "").strip())
        given = home / DEFAULT_CACHE.removeprefix("~/")
    return given / "ohm-subagents" if given.is_absolute() else None


def _first(names: tuple[str, ...], env: Mapping[str, str]) -> Path:
    given = (env.get(name, "").strip() for name in names)
    return expanded(next((text for text in given if text), DEFAULT_DIRECTORY), env)


def expanded(path: str, env: Mapping[str, str]) -> Path:
    """Replace a leading `~` by the home directory of `env`."""
    if path != "~" and not path.startswith("~/"):
        return Path(path)
    return home_dir(env) / path[2:]


def home_dir(env: Mapping[str, str]) -> Path:
    """Return the home directory of `env`, else of the process; a blank one is none, and never the root."""
    home = env.get("HOME", "").strip() or process_env().get("HOME", "").strip()
    if home:
        return Path(home)
    import pwd  # noqa: PLC0415  hardly any process has no HOME

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        message = "HOME is not set, and the user has no home directory: set HOME."
        raise RuntimeError(message) from error


def nesting_depth(env: Mapping[str, str]) -> int | None:
    """Return how many subagents this process is inside of; None, if that cannot be read, forbids every start."""
    text = env.get(DEPTH_VARIABLE, "").strip() or "0"
    return int(text) if _DEPTH.fullmatch(text) else None


def ceiling_above(env: Mapping[str, str]) -> Delegation | None:
    """Return the ceilings that this process is under; one that cannot be read allows no tool."""
    text = env.get(CEILING_VARIABLE, "").strip()
    return (delegation_from_json(text) or _NOTHING) if text else None


def nesting(env: Mapping[str, str]) -> Nesting:
    """Return the levels of subagents above this process; an unreadable limit counts as none."""
    limit = env.get(MAX_DEPTH_VARIABLE, "").strip()
    return Nesting(
        depth=nesting_depth(env),
        max_depth=int(limit) if _DEPTH.fullmatch(limit) else None,
        is_child=env.get(CHILD_VARIABLE, "").strip() == "1",
    )


def environment(env: Mapping[str, str]) -> tuple[Layer, tuple[Diagnostic, ...]]:
    """Return the variables as a layer of raw values, and what is wrong with the depth.

    A blank variable is an unset one, but a blank list of the plugins to load has none in it.
    """
    values: dict[str, JsonValue] = {}
    places: dict[KeyPath, Location] = {}
    wrong: list[Diagnostic] = []
    for variable in VARIABLES:
        text = env.get(variable.name, "").strip()
        if not text and not (variable.blank_counts and variable.name in env):
            continue
        section = values
        for part in variable.path[:-1]:
            inner = section.setdefault(part, {})
            section = inner if isinstance(inner, dict) else section
        section[variable.path[-1]] = _read(text, variable.kind)
        places[variable.path] = Location(source=f"env {variable.name}", key=variable.name)
    if nesting_depth(env) is None:
        message = (
            f"'{DEPTH_VARIABLE}' is {quoted_value(env[DEPTH_VARIABLE])}, but has to be an integer, 0 or more; it "
            "counts as the depth limit reached, so no task may be started."
        )
        place = Location(source=f"env {DEPTH_VARIABLE}", key=DEPTH_VARIABLE)
        wrong.append(place.diagnostic(message, severity="error"))
    if ceiling_above(env) is _NOTHING:
        place = Location(source=f"env {CEILING_VARIABLE}", key=CEILING_VARIABLE)
        message = f"'{CEILING_VARIABLE}' cannot be read; subagents have no tools. Only ohm itself sets it."
        wrong.append(place.diagnostic(message, severity="error"))
    return Layer(kind="environment", source="env", values=values, places=places), tuple(wrong)


def _read(text: str, kind: Literal["integer", "text", "list"]) -> JsonValue:
    match kind:
        case "integer":
            return (int(text) if _INTEGER.fullmatch(text) else 0) or text
        case "list":
            return [part.strip() for part in text.split(",") if part.strip()]
        case "text":
            return text
