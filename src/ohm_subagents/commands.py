"""The door for commands that plugins bring to `ohm`.

Name a typer app or a function by an entry point of the group `ohm_subagents.commands`; its name is the command. Nothing
is imported before the command is run, so keep heavy imports inside of functions:

```toml
[project.entry-points."ohm_subagents.commands"]
review = "ohm_review.commands:review"
```

A name with a dot, such as `profiles.import`, is a command below one of ours.

A command reads its parameters (`Cwd`, `Config`, `Server`, `AsJson`), prints by `print_text` and its like, which let no
text drive the terminal, and leaves by `finish` with an exit code. One that speaks a protocol of JSON lines takes the
standard streams by `standard_wire`.
"""

from typing import TYPE_CHECKING

from ohm_subagents._lazy import lazy_names
from ohm_subagents._plugins.commands import COMMAND_GROUP, InstalledCommand, installed_commands

if TYPE_CHECKING:
    from ohm_subagents._app.sources import system_clock
    from ohm_subagents._terminal.board import Board
    from ohm_subagents._terminal.command import (
        BAD_USAGE,
        HERE,
        INTERRUPTED,
        SUCCESS,
        TASK_FAILED,
        AsJson,
        Config,
        Cwd,
        Server,
        chosen_server,
        complain,
        directory,
        finish,
        inspect,
        json_fault,
        print_refusal,
        report,
        typed_path,
        with_config,
    )
    from ohm_subagents._terminal.finished import print_batch
    from ohm_subagents._terminal.hint import Note
    from ohm_subagents._terminal.listening import listener_at, serve_app
    from ohm_subagents._terminal.live import call_live
    from ohm_subagents._terminal.lookup import find_task
    from ohm_subagents._terminal.prompts import is_attended
    from ohm_subagents._terminal.shown import Leave, Shown
    from ohm_subagents._terminal.signals import until_signal
    from ohm_subagents._terminal.stored import with_store
    from ohm_subagents._terminal.terminal import (
        harmless,
        is_terminal,
        json_line,
        print_json,
        print_json_lines,
        print_prose,
        print_styled,
        print_text,
        print_wrapped,
        prose_lines,
        width,
    )
    from ohm_subagents._terminal.theme import terminal_theme
    from ohm_subagents._terminal.wire import (
        MAX_MESSAGE_BYTES,
        TooLong,
        Wire,
        message_too_long,
        request_id_in_use,
        standard_wire,
    )

__all__ = [
    "BAD_USAGE",
    "COMMAND_GROUP",
    "HERE",
    "INTERRUPTED",
    "MAX_MESSAGE_BYTES",
    "SUCCESS",
    "TASK_FAILED",
    "AsJson",
    "Board",
    "Config",
    "Cwd",
    "InstalledCommand",
    "Leave",
    "Note",
    "Server",
    "Shown",
    "TooLong",
    "Wire",
    "call_live",
    "chosen_server",
    "complain",
    "directory",
    "find_task",
    "finish",
    "harmless",
    "inspect",
    "installed_commands",
    "is_attended",
    "is_terminal",
    "json_fault",
    "json_line",
    "listener_at",
    "message_too_long",
    "print_batch",
    "print_json",
    "print_json_lines",
    "print_prose",
    "print_refusal",
    "print_styled",
    "print_text",
    "print_wrapped",
    "prose_lines",
    "report",
    "request_id_in_use",
    "serve_app",
    "standard_wire",
    "system_clock",
    "terminal_theme",
    "typed_path",
    "until_signal",
    "width",
    "with_config",
    "with_store",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_app.sources": "system_clock",
        "_terminal.command": "BAD_USAGE HERE INTERRUPTED SUCCESS TASK_FAILED AsJson Config Cwd Server "
        "chosen_server complain directory finish inspect json_fault print_refusal report typed_path with_config",
        "_terminal.board": "Board",
        "_terminal.finished": "print_batch",
        "_terminal.hint": "Note",
        "_terminal.listening": "listener_at serve_app",
        "_terminal.live": "call_live",
        "_terminal.lookup": "find_task",
        "_terminal.prompts": "is_attended",
        "_terminal.shown": "Leave Shown",
        "_terminal.signals": "until_signal",
        "_terminal.stored": "with_store",
        "_terminal.terminal": "harmless is_terminal json_line width "
        "print_json print_json_lines print_prose print_styled print_text print_wrapped prose_lines",
        "_terminal.theme": "terminal_theme",
        "_terminal.wire": "MAX_MESSAGE_BYTES TooLong Wire message_too_long request_id_in_use standard_wire",
    },
)
