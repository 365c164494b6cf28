"""`ohm doctor`: what works here, what does not, and what to do about it. Keys by name, never by value."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from ohm_subagents._backends.in_process.tools import WITHOUT_RIPGREP, find_ripgrep
from ohm_subagents._config.env import config_dir, process_env
from ohm_subagents._config.load import FILE_NAME
from ohm_subagents.cli.exits import BAD_USAGE, SUCCESS
from ohm_subagents.cli.model_choice import chosen_model
from ohm_subagents.cli.plugins import plugin_line
from ohm_subagents.cli.terminal import print_text
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ohm_subagents import Ohm

_OK: Final = "✓"
_MISSING: Final = "○"
_WRONG: Final = "✕"


async def doctor(*, cwd: Path, config: Path | None) -> int:
    """Print the findings; 2 when the configuration cannot be read, else 0."""
    from ohm_subagents import Ohm

    async with Ohm.open(cwd=cwd, config=config) as ohm:
        sections = {
            "Installation": _installation(),
            "Configuration": _configuration(ohm, cwd, config),
            "Keys": _keys(ohm),
            "Default models, first match wins": _defaults(ohm),
            "Subagents": _subagents(ohm),
            "Backends": _backends(ohm),
            "Plugins": [f"  {plugin_line(plugin)}" for plugin in ohm.assembly.host.plugins],
            "Diagnostics": [f"  {_WRONG} {found}" for found in ohm.diagnostics] or [f"  {_OK} none"],
        }
        print_text("\n\n".join("\n".join([f"{name}:", *lines]) for name, lines in sections.items()))
        return BAD_USAGE if isinstance(ohm.assembly.loaded, Err) else SUCCESS


def _installation() -> Iterator[str]:
    yield f"  {_OK} ohm-subagents {version('ohm-subagents')} on Python {platform.python_version()}"
    ripgrep = find_ripgrep()
    yield f"  {_OK} ripgrep: {ripgrep}" if ripgrep else f"  {_MISSING} {WITHOUT_RIPGREP}"


def _configuration(ohm: Ohm, cwd: Path, config: Path | None) -> Iterator[str]:
    """Every file that is looked for, and the place of the error if there is one."""
    match ohm.assembly.loaded:
        case Err(error):
            yield f"  {_WRONG} {error}"
        case Ok(loaded):
            files = [config] if config else [config_dir(process_env()) / FILE_NAME, cwd / ".pi" / FILE_NAME]
            read = {str(source) for source in loaded.loaded_from}
            for file in files:
                yield f"  {_OK} {file}" if str(file) in read else f"  {_MISSING} {file}: not there"


def _keys(ohm: Ohm) -> Iterator[str]:
    env = process_env()
    names = dict.fromkeys(key for spec in ohm.assembly.model_book().specs for key in spec.keys)
    for name in names:
        yield f"  {_OK} {name}" if env.get(name, "").strip() else f"  {_MISSING} {name}: not set"


def _defaults(ohm: Ohm) -> Iterator[str]:
    book = ohm.assembly.model_book()
    for spec in book.specs:
        if spec.default_model is not None:
            mark, why = (_OK, "") if book.has_key(spec) else (_MISSING, f": needs {' or '.join(spec.keys)}")
            yield f"  {mark} {spec.provider}/{spec.default_model}{why}"


def _subagents(ohm: Ohm) -> Iterator[str]:
    """Which model each would run on, and why."""
    match ohm.assembly.loaded:
        case Err():
            yield f"  {_WRONG} none may run until the configuration can be read"
        case Ok(loaded):
            book = ohm.assembly.model_book()
            for profile in ohm.profiles:
                chosen = chosen_model(profile, loaded, book)
                yield f"  {_OK} {profile.id}: {chosen[0]}, {chosen[1]}" if chosen else _without_model(profile.id)


def _without_model(profile_id: str) -> str:
    return (
        f"  {_MISSING} {profile_id}: no model; set subagents.{profile_id}.model or subagents.model in ohm.json, "
        "or OHM_MODEL, or one of the keys above"
    )


def _backends(ohm: Ohm) -> Iterator[str]:
    for backend_id, spec in ohm.assembly.host.backends().items():
        lacking = spec.lacks()
        yield f"  {_MISSING} {backend_id}: {lacking}" if lacking else f"  {_OK} {backend_id}: {spec.summary}"
