"""`ohm profiles import`, as it is typed. `ohm --help` loads this: no engine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ohm_subagents.commands import HERE, Config, Cwd, inspect

_FROM = "Directory of the other program, such as .claude or ~/.codex."
import_app = typer.Typer(add_completion=False, rich_markup_mode=None)


@import_app.command(short_help="Write the agents of another program as profiles.")
def import_profiles(
    source: Annotated[Path, typer.Option("--from", help=_FROM)],
    *,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Write the agents of another program as profiles: those of the project to .pi/subagents, others to yours.

    No file is replaced. What of an agent does not hold is reported.
    """
    from ohm_subagents.agent_files.conversion import convert  # noqa: PLC0415  a command imports what it needs

    inspect(partial(convert, source.expanduser()), cwd=cwd, config=config)
