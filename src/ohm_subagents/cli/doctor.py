"""`ohm doctor`: what works here, what does not, and what to do about it. Keys by name, never by value."""

from __future__ import annotations

import platform
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.cli.models import DEFAULTS, MENU, MISSING, OK, default_lines, menu_lines
from ohm_subagents.cli.plugins import plugin_line
from ohm_subagents.cli.readiness import Readiness, model_of, unusable
from ohm_subagents.cli.sandbox import sandbox_lines
from ohm_subagents.cli.trust import trust_line
from ohm_subagents.commands import BAD_USAGE, SUCCESS, TASK_FAILED, print_text
from ohm_subagents.config import CONFIG_FILE, config_dir
from ohm_subagents.contract import Diagnostic, Err, Ok
from ohm_subagents.contract.model_pattern import misspelt_level

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ohm_subagents import Inspection, Ohm
    from ohm_subagents.config import LoadedConfig

_ECHO: Final = "none"
"""The backend that runs no model."""
_WRONG: Final = "✕"
_MARKS: Final = {"info": OK, "warning": MISSING, "error": _WRONG}


async def doctor(*, cwd: Path, config: Path | None) -> int:
    """Print the findings; 2 for a configuration that cannot be read, 1 for something that cannot work, else 0."""
    from ohm_subagents import Ohm

    async with Ohm.open(cwd=cwd, config=config) as ohm:
        parts = ohm.inspect()
        checks = parts.checks(dict.fromkeys(one.suite for one in parts.tools if not one.for_subagents))
        faults = [*ohm.diagnostics, *(one for one in checks if one.severity != "info")]
        match parts.loaded:
            case Err(error):
                configuration, menu = [f"{_WRONG} {error}"], dict[str, list[str]]()
                subagents = [f"{_WRONG} none may run until the configuration can be read"]
            case Ok(loaded):
                files = [config] if config else [config_dir(parts.place.env) / CONFIG_FILE, cwd / ".pi" / CONFIG_FILE]
                is_settled, trust = await trust_line(cwd)
                configuration = [*_files(files, loaded), f"{OK if is_settled else MISSING} {trust}"]
                subagents = [*_subagents(ohm, loaded, faults)]
                named = [*menu_lines(parts, loaded)]
                menu = {MENU: named} if named else {}
        found = {
            "Installation": [_installation(), *(f"{OK} {one}" for one in checks if one.severity == "info")],
            "Configuration": configuration,
            "Keys": [*_keys(parts)],
            **menu,
            DEFAULTS: [*default_lines(parts)],
            "Subagents": subagents,
            "Backends": [*_backends(parts)],
            "Sandbox": await to_thread.run_sync(lambda: [*sandbox_lines()], abandon_on_cancel=True),
            "Plugins": [f"{_WRONG if one.state == 'failed' else OK} {plugin_line(one)}" for one in parts.plugins],
            "Tasks": [_tasks(ohm)],
            "Diagnostics": [f"{_MARKS[one.severity]} {one}" for one in dict.fromkeys(faults)] or [f"{OK} none"],
        }
    print_text("\n\n".join("\n  ".join([f"{name}:", *lines]) for name, lines in found.items()))
    if isinstance(parts.loaded, Err):
        return BAD_USAGE
    return TASK_FAILED if any(line.startswith(_WRONG) for lines in found.values() for line in lines) else SUCCESS


def _installation() -> str:
    return f"{OK} ohm-subagents {version('ohm-subagents')} on Python {platform.python_version()}"


def _files(files: list[Path], loaded: LoadedConfig) -> Iterator[str]:
    """Yield a line for every file that is looked for."""
    for file in map(str, files):
        yield f"{OK} {file}" if file in loaded.loaded_from else f"{MISSING} {file}: not there"


def _keys(parts: Inspection) -> Iterator[str]:
    names = {spec.key_place or key: key for spec in parts.models.specs for key in spec.keys}
    for name, key in names.items():
        yield f"{OK} {name}" if parts.place.env.get(key, "").strip() else f"{MISSING} {name}: not set"


def _subagents(ohm: Ohm, loaded: LoadedConfig, faults: list[Diagnostic]) -> Iterator[str]:
    """Yield a line for each subagent: its model and why, or the obstacle; add the faults of its tools and model."""
    ready = Readiness(ohm, loaded)
    obstacles = {profile.id: ready.obstacle(profile) for profile in ohm.profiles}
    first = {one.why: profile_id for profile_id, one in reversed(obstacles.items()) if one is not None}
    for profile in ohm.profiles:
        tools = ready.tools_of(profile).ok()
        faults += (replace(one, message=f"{profile.id}: {one.message}") for one in (tools.diagnostics if tools else ()))
        named = model_of(profile, loaded)
        faults += filter(None, [None if named is None else misspelt_level(named.pattern)])
        obstacle, model = obstacles[profile.id], ready.model_of(profile)
        if obstacle is not None:
            why = obstacle.why if first[obstacle.why] == profile.id else f"same as {first[obstacle.why]}"
            yield f"{_WRONG if obstacle.is_fault else MISSING} {profile.id}: {why}"
        elif model is None and not ready.is_ours(profile):
            backend = ready.backend_of(profile)
            how = "which echoes the task and runs no model" if backend == _ECHO else "which chooses the model itself"
            yield f"{OK} {profile.id}: {backend}, {how}"
        else:
            yield f"{OK} {profile.id}" + (f": {model}" if model else "")


def _backends(parts: Inspection) -> Iterator[str]:
    for backend_id, spec in parts.backends.items():
        obstacle = unusable(spec, parts.loaded.ok(), parts.place.env)
        mark = OK if obstacle is None else _WRONG if obstacle.is_fault else MISSING
        name = f"{backend_id} ({spec.backend_type})" if spec.backend_type else backend_id
        yield f"{mark} {name}: {spec.summary if obstacle is None else obstacle.why}"


def _tasks(ohm: Ohm) -> str:
    """Return the place of the kept tasks, and their number."""
    store = ohm.store
    chosen = ohm.config.subagents.store
    if store.place is not None:
        return f"{OK} {chosen}: {store.count()} in {store.place}"
    if isinstance(ohm.inspect().loaded, Err):
        return f"{MISSING} none are kept until the configuration can be read"
    if chosen != "memory":
        return f"{_WRONG} {chosen}: it cannot be used, see the diagnostics"
    return f"{OK} memory: gone with the process"
