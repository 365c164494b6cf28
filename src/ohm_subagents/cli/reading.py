"""Commands that read what is kept: no event loop, no plugin, no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ohm_subagents._config.env import process_env
from ohm_subagents._config.load import load_config
from ohm_subagents.cli.exits import BAD_USAGE, TASK_FAILED, complain, report
from ohm_subagents.cli.registry import open_registry
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents.cli.registry import Registry

Look: TypeAlias = "Callable[[Registry, OhmConfig], int]"
NOTHING_KEPT = 'Nothing is kept: subagents.store is "memory", so tasks are gone with the process that ran them.'


def read(look: Look, *, cwd: Path, config: Path | None) -> int:
    """The exit code of `look`; 2 when the configuration cannot be read, 1 when the registry cannot."""
    match load_config(cwd=cwd, config=config, env=process_env()):
        case Err(error):
            complain(error)
            return BAD_USAGE
        case Ok(loaded):
            report(loaded.diagnostics)
    with open_registry(loaded.config, cwd) as opened:
        match opened:
            case Err(why):
                complain(why)
                return TASK_FAILED
            case Ok(registry):
                told = registry.diagnostics
                report(told)
                code = look(registry, loaded.config)
                report(each for each in registry.diagnostics if each not in told)  # what was found on the way
                return code
