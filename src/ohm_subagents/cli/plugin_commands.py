"""The commands of `ohm` and those of plugins in one group. `--help` names the latter and imports none of others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_command_from_info, get_command_name, get_group_from_info
from typer.models import CommandInfo

from ohm_subagents.commands import BAD_USAGE, TASK_FAILED, InstalledCommand, complain, installed_commands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer.models import TyperInfo

OWN: Final = typer.Typer()
"""The commands that are no plugin's, as they are declared."""


class _OwnCommands(Mapping[str, Any]):
    """The commands of `OWN`. Typer makes one of its function in a millisecond, so only those that are asked for."""

    @cached_property
    def _declared(self) -> Mapping[str, CommandInfo | TyperInfo]:
        groups = {one.name: one for one in OWN.registered_groups if isinstance(one.name, str)}
        return {_name(one): one for one in OWN.registered_commands} | groups

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  typer's own class has no public name
        declared = self._declared[name]
        if isinstance(declared, CommandInfo):
            return get_command_from_info(declared, pretty_exceptions_short=True, rich_markup_mode=None)
        return get_group_from_info(declared, pretty_exceptions_short=True, rich_markup_mode=None, suggest_commands=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)


def _name(declared: CommandInfo) -> str:
    return declared.name or get_command_name(getattr(declared.callback, "__name__", ""))


class PluginCommands(TyperGroup):
    """The group of `OWN`, and below them the commands of plugins, which never replace one."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  as above
        made: Any = _OwnCommands()
        settings["commands"] = made
        super().__init__(**settings)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401  typer's own class has no public name
        """Return every name, sorted."""
        return sorted({*self.commands, *(name for name in self._installed if "." not in name)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401  as above
        """Return the command; one of a plugin is imported when it runs, one of our own now."""
        found = super().get_command(ctx, cmd_name)
        if found is not None or cmd_name not in self._installed:
            return found
        installed = self._installed[cmd_name]
        command = _imported(installed) if installed.is_own else _Foreign(installed)
        parts = ((name.partition("."), one) for name, one in self._installed.items())
        below = {word: one for (above, _, word), one in parts if above == cmd_name and word}
        return _WithSubcommands(command, below) if below and installed.is_own else command

    @cached_property
    def _installed(self) -> Mapping[str, InstalledCommand]:
        return installed_commands()


class _WithSubcommands(TyperCommand):
    """A command of our own that has others below it: the entry point `above.below` is `ohm above below`."""

    def __init__(self, command: Any, below: Mapping[str, InstalledCommand]) -> None:  # noqa: ANN401  as above
        super().__init__(command.name, short_help=command.short_help, help=command.help)
        self._command = command
        self._below = below

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:  # noqa: ANN401  as above
        """Let the command read the arguments, or the one below it that they name."""
        installed = self._below.get(args[0]) if args else None
        if installed is None:
            below = (f"  {word}  See ohm {info_name} {word} --help." for word in self._below)
            self._command.epilog = "\n".join(["\b", "Commands:", *below])
            return self._command.make_context(info_name, args, parent, **extra)
        command = _imported(installed) if installed.is_own else _Foreign(installed)
        return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)


class _Foreign(TyperCommand):
    """A placeholder for a command of another distribution until it is called."""

    def __init__(self, installed: InstalledCommand) -> None:
        super().__init__(installed.name, short_help=f"A command of {installed.distribution} {installed.version}.")
        self._installed = installed

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:  # noqa: ANN401  as above
        """Import the command and let it read the arguments, unless the configuration leaves its plugin out."""
        _check_allowed(self._installed)
        return _imported(self._installed).make_context(info_name, args, parent, **extra)


def _check_allowed(installed: InstalledCommand) -> None:
    from pathlib import Path

    from ohm_subagents.config import load_config, process_env
    from ohm_subagents.contract import Err

    loaded = load_config(cwd=Path.cwd(), config=None, env=process_env())
    if isinstance(loaded, Err):  # while it cannot be read, nobody knows which plugins it blocks
        complain(loaded.err_value)
        raise typer.Exit(BAD_USAGE)
    if not loaded.ok_value.config.allows_plugin(installed.name):
        complain(
            f"The command '{installed.name}' of {installed.distribution} is left out by loadPlugins or blockPlugins."
        )
        raise typer.Exit(BAD_USAGE)


def _imported(installed: InstalledCommand) -> Any:  # noqa: ANN401  as above
    try:
        loaded = installed.load()
        if isinstance(loaded, typer.Typer):
            return get_command(loaded)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(installed.name)(loaded)  # type: ignore[type-var]  # typer itself refuses what is not callable
        return get_command(app)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  a module of another distribution, which may even call exit()
        why = f"{type(error).__name__}: {error}".rstrip(": .")
        complain(f"The command '{installed.name}' of {installed.distribution} cannot be loaded: {why}.")
        raise typer.Exit(TASK_FAILED) from None
