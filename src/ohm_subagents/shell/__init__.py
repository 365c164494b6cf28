"""The door for command-line agents and for processes that leave nothing behind.

Describe an agent as a `Dialect`; `shell_backend` makes a supervised backend of it. A backend that is more than that
starts processes by a `Supervisor` itself. `process.Child` ends a process, `orphans.end` all that it has left,
`reaper.Reaper` both once the host is gone; `environment.child_environment` says which variables a child sees.
"""

from typing import TYPE_CHECKING

from ohm_subagents._lazy import lazy_names

if TYPE_CHECKING:
    from ohm_subagents._config.env import DIRECTORY_VARIABLES
    from ohm_subagents._interpreters.interpreter import (
        ProcessLimits,
        has_interpreter,
        limit_process,
        loader_environment,
        run_apart,
    )
    from ohm_subagents.shell.backend import (
        ShellBackend,
        command_environment,
        converse,
        finish_run,
        new_invocation,
        shell_backend,
        start_run,
    )
    from ohm_subagents.shell.command import command_setting, locate_command
    from ohm_subagents.shell.dialect import Dialect, Ended, Invocation, Reader, full_prompt, records
    from ohm_subagents.shell.environment import child_environment, passed_environment, trace_environment
    from ohm_subagents.shell.inheritance import start_failure, with_default_signals
    from ohm_subagents.shell.needs import HomeFolders, Needs
    from ohm_subagents.shell.options import ShellOptions
    from ohm_subagents.shell.process import MARKER, Child, Launch, Supervisor, output_of

__all__ = [
    "DIRECTORY_VARIABLES",
    "MARKER",
    "Child",
    "Dialect",
    "Ended",
    "HomeFolders",
    "Invocation",
    "Launch",
    "Needs",
    "ProcessLimits",
    "Reader",
    "ShellBackend",
    "ShellOptions",
    "Supervisor",
    "child_environment",
    "command_environment",
    "command_setting",
    "converse",
    "finish_run",
    "full_prompt",
    "has_interpreter",
    "limit_process",
    "loader_environment",
    "locate_command",
    "new_invocation",
    "output_of",
    "passed_environment",
    "records",
    "run_apart",
    "shell_backend",
    "start_failure",
    "start_run",
    "trace_environment",
    "with_default_signals",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_config.env": "DIRECTORY_VARIABLES",
        "_interpreters.interpreter": "ProcessLimits has_interpreter limit_process loader_environment run_apart",
        "shell.backend": "ShellBackend command_environment converse finish_run new_invocation shell_backend start_run",
        "shell.command": "command_setting locate_command",
        "shell.dialect": "Dialect Ended Invocation Reader full_prompt records",
        "shell.needs": "HomeFolders Needs",
        "shell.environment": "child_environment passed_environment trace_environment",
        "shell.inheritance": "start_failure with_default_signals",
        "shell.options": "ShellOptions",
        "shell.process": "MARKER Child Launch Supervisor output_of",
    },
)
