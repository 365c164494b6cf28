"""The door for commands that plugins bring to `ohm`.

Name a typer app or a function by an entry point of the group `ohm_subagents.commands`; its name is the command. Nothing
is imported before the command is run, so keep heavy imports inside of functions:

```toml
[project.entry-points."ohm_subagents.commands"]
review = "ohm_review.commands:review"
```

A command reads its parameters (`Cwd`, `Config`, `AsJson`), prints by `print_text` and its like, which let no text drive
the terminal, and leaves by `finish` with an exit code.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ohm_subagents._plugins.commands import COMMAND_GROUP, InstalledCommand, installed_commands

if TYPE_CHECKING:
    from ohm_subagents._app.assembly import system_clock
    from ohm_subagents._terminal.exits import BAD_USAGE, SUCCESS, TASK_FAILED, complain, finish, report
    from ohm_subagents._terminal.inspection import inspect
    from ohm_subagents._terminal.live import drawn
    from ohm_subagents._terminal.parameters import HERE, AsJson, Config, Cwd
    from ohm_subagents._terminal.place import directory
    from ohm_subagents._terminal.signals import aborted_by_signal
    from ohm_subagents._terminal.terminal import is_terminal, print_json, print_styled, print_text, styled, width
    from ohm_subagents._terminal.theme import terminal_theme

__all__ = [
    "BAD_USAGE",
    "COMMAND_GROUP",
    "HERE",
    "SUCCESS",
    "TASK_FAILED",
    "AsJson",
    "Config",
    "Cwd",
    "InstalledCommand",
    "aborted_by_signal",
    "complain",
    "directory",
    "drawn",
    "finish",
    "inspect",
    "installed_commands",
    "is_terminal",
    "print_json",
    "print_styled",
    "print_text",
    "report",
    "styled",
    "system_clock",
    "terminal_theme",
    "width",
]

_HOMES = {
    "_app.assembly": "system_clock",
    "_terminal.exits": "BAD_USAGE SUCCESS TASK_FAILED complain finish report",
    "_terminal.inspection": "inspect",
    "_terminal.live": "drawn",
    "_terminal.parameters": "HERE AsJson Config Cwd",
    "_terminal.place": "directory",
    "_terminal.signals": "aborted_by_signal",
    "_terminal.terminal": "is_terminal print_json print_styled print_text styled width",
    "_terminal.theme": "terminal_theme",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Load a name on first use (PEP 562): `ohm --help` needs only the parameters."""
    if name not in _HOME_OF:
        unknown = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(unknown)
    found = getattr(import_module(f"ohm_subagents.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
