"""The door for command-line agents: describe one as a `Dialect`; `shell_backend` makes a supervised backend of it."""

from ohm_subagents._shell.backend import shell_backend
from ohm_subagents._shell.dialect import Dialect, Ended, Invocation, Reader, full_prompt, records
from ohm_subagents._shell.options import ShellOptions
from ohm_subagents._shell.process import Child, Launch, Supervisor

__all__ = [
    "Child",
    "Dialect",
    "Ended",
    "Invocation",
    "Launch",
    "Reader",
    "ShellOptions",
    "Supervisor",
    "full_prompt",
    "records",
    "shell_backend",
]
