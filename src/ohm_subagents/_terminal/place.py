"""The working directory of a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

from ohm_subagents._orchestrator.admission.refusals import unreadable
from ohm_subagents._terminal.exits import BAD_USAGE, complain
from ohm_subagents._terminal.terminal import print_json
from ohm_subagents._views.projection import project
from ohm_subagents._views.reply_lines import lines_of
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.truncation import WHOLE

if TYPE_CHECKING:
    from pathlib import Path


def directory(typed: Path, *, as_json: bool = False) -> Path:
    """Return the absolute path of a readable directory; otherwise print the error, or its envelope, and exit with 2."""
    try:
        cwd = typed.resolve()
        if os.path.isdir(cwd) and os.access(cwd, os.R_OK | os.X_OK):
            return cwd
    except (OSError, RuntimeError, ValueError):  # the current directory was removed, or the path is a loop, or no path
        pass
    error = unreadable(typed)
    if as_json:
        print_json(
            project(lines_of(CommandRejected(error=error, backend="unavailable")), output_max_chars=WHOLE).payload()
        )
    else:
        complain(error)
    raise typer.Exit(BAD_USAGE)
