"""Parameters that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Cwd: TypeAlias = Annotated[
    Path, typer.Option("--cwd", help="Where subagents work.", show_default="here", readable=False)
]
Config: TypeAlias = Annotated[
    Path | None, typer.Option("--config", help="An ohm.json to use instead of the user's and the project's.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]
NewFile: TypeAlias = Annotated[
    Path | None, typer.Option("--output", help="A new file for it, which only you may read.", readable=False)
]
HERE = Path()
