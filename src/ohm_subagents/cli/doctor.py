"""`ohm doctor`: what works here, what does not, and what to do about it. Keys by name, never by value."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from ohm_subagents._terminal.exits import BAD_USAGE, SUCCESS, TASK_FAILED
from ohm_subagents._terminal.terminal import print_text
from ohm_subagents.cli.model_choice import told_model
from ohm_subagents.cli.plugins import plugin_line
from ohm_subagents.cli.readiness import Obstacle, obstacle, unusable
from ohm_subagents.cli.trust import trust_line
from ohm_subagents.config import CONFIG_FILE, config_dir, process_env
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ohm_subagents import Ohm
    from ohm_subagents.contract.diagnostics import Diagnostic

_OK: Final = "✓"
_MISSING: Final = "○"
_WRONG: Final = "✕"
_MARKS: Final = {"info": _OK, "warning": _MISSING, "error": _WRONG}
FAULTY: Final = TASK_FAILED


async def doctor(*, cwd: Path, config: Path | None) -> int:
    """Print the findings; 2 for a configuration that cannot be read, 1 for something that cannot work, else 0."""
    from ohm_subagents import Ohm

    async with Ohm.open(cwd=cwd, config=config) as ohm:
        checks = _checks(ohm)
        sections = {
            "Installation": _installation(checks),
            "Configuration": _configuration(ohm, cwd, config, await trust_line(cwd)),
            "Keys": _keys(ohm),
            "Default models, first match wins": _defaults(ohm),
            "Subagents": _subagents(ohm),
            "Backends": _backends(ohm),
            "Plugins": _plugins(ohm),
            "Tasks": _tasks(ohm),
            "Diagnostics": _diagnostics(ohm, checks),
        }
        found = {name: [*lines] for name, lines in sections.items()}
        print_text("\n\n".join("\n".join([f"{name}:", *lines]) for name, lines in found.items()))
        if isinstance(ohm.inspect().loaded, Err):
            return BAD_USAGE
        is_wrong = any(line.startswith(f"  {_WRONG}") for lines in found.values() for line in lines)
        return FAULTY if is_wrong else SUCCESS


def _installation(checks: Iterable[Diagnostic]) -> Iterator[str]:
    """Our own release, and what plugins say that works."""
    yield f"  {_OK} ohm-subagents {version('ohm-subagents')} on Python {platform.python_version()}"
    yield from (f"  {_OK} {one}" for one in checks if one.severity == "info")


def _configuration(ohm: Ohm, cwd: Path, config: Path | None, trust: tuple[bool, str]) -> Iterator[str]:
    """Every file that is looked for, and the place of the error if there is one."""
    match ohm.inspect().loaded:
        case Err(error):
            yield f"  {_WRONG} {error}"
        case Ok(loaded):
            files = [config] if config else [config_dir(process_env()) / CONFIG_FILE, cwd / ".pi" / CONFIG_FILE]
            read = {str(source) for source in loaded.loaded_from}
            for file in files:
                yield f"  {_OK} {file}" if str(file) in read else f"  {_MISSING} {file}: not there"
            is_settled, told = trust
            yield f"  {_OK if is_settled else _MISSING} {told}"


def _keys(ohm: Ohm) -> Iterator[str]:
    env = process_env()
    names = {spec.key_place or key: key for spec in ohm.inspect().models.specs for key in spec.keys}
    for name, key in names.items():
        yield f"  {_OK} {name}" if env.get(key, "").strip() else f"  {_MISSING} {name}: not set"


def _defaults(ohm: Ohm) -> Iterator[str]:
    book = ohm.inspect().models
    for spec in book.specs:
        if spec.default_model is not None:
            mark, why = (_OK, "") if book.has_key(spec) else (_MISSING, f": needs {' or '.join(spec.key_names)}")
            yield f"  {mark} {spec.provider}/{spec.default_model}{why}"


def _subagents(ohm: Ohm) -> Iterator[str]:
    """Yield a line for each subagent: the model that it would run on, and why."""
    match ohm.inspect().loaded:
        case Err():
            yield f"  {_WRONG} none may run until the configuration can be read"
        case Ok(loaded):
            book = ohm.inspect().models
            for profile in ohm.profiles:
                match obstacle(profile, ohm, loaded), told_model(profile, loaded, book):
                    case Obstacle(why=why, is_fault=is_fault), _:
                        yield f"  {_WRONG if is_fault else _MISSING} {profile.id}: {why}"
                    case None, str(told):
                        yield f"  {_OK} {profile.id}: {told}"
                    case None, None:
                        yield f"  {_OK} {profile.id}"


def _tasks(ohm: Ohm) -> Iterator[str]:
    """Yield the place of the kept tasks, and their number."""
    store = ohm.store
    chosen = ohm.config.subagents.store
    if store.place is None and chosen != "memory":
        yield f"  {_WRONG} {chosen}: it cannot be used, see the diagnostics"
    elif store.place is None:
        yield f"  {_OK} memory: gone with the process"
    else:
        yield f"  {_OK} {ohm.config.subagents.store}: {store.count()} in {store.place}"


def _plugins(ohm: Ohm) -> Iterator[str]:
    for plugin in ohm.inspect().plugins:
        yield f"  {_WRONG if plugin.state == 'failed' else _OK} {plugin_line(plugin)}"


def _diagnostics(ohm: Ohm, checks: Iterable[Diagnostic]) -> Iterator[str]:
    """A warning is about something that is left out; an error about something that cannot work."""
    loaded = ohm.inspect().loaded
    if isinstance(loaded, Err):
        yield f"  {_WRONG} {loaded.err_value}"
    found = dict.fromkeys((*ohm.diagnostics, *(one for one in checks if one.severity != "info")))
    if isinstance(loaded, Ok) and not found:
        yield f"  {_OK} none"
    for one in found:
        yield f"  {_MARKS[one.severity]} {one}"


def _checks(ohm: Ohm) -> tuple[Diagnostic, ...]:
    """Ask the plugins, each about the suites that are mounted."""
    inspection = ohm.inspect()
    return inspection.checks(dict.fromkeys(one.suite for one in inspection.tools if not one.for_subagents))


def _backends(ohm: Ohm) -> Iterator[str]:
    for backend_id, spec in ohm.inspect().backends.items():
        obstacle = unusable(spec, ohm)
        mark = _OK if obstacle is None else _WRONG if obstacle.is_fault else _MISSING
        yield f"  {mark} {backend_id}: {spec.summary if obstacle is None else obstacle.why}"
