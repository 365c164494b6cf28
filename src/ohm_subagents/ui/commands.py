"""`ohm ui`, as it is typed. `ohm --help` loads this: no engine, and no web server."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from ohm_subagents.commands import BAD_USAGE, HERE, Config, Cwd, complain, directory, finish, typed_path


def ui(
    *,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="<n>", min=0, max=65_535, help="Listen at this port; 0 is any free one."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the page in a browser.")] = False,
    export: Annotated[
        str | None,
        typer.Option("--export", metavar="<id>", help="Write the page of this task to a file, and serve nothing."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="<file>",
            parser=typed_path,
            help="With --export, the file; <id>.html unless it is given, - is standard output.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With --export, replace an existing file.")] = False,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Show the tasks of all processes on a local web page."""
    place = directory(cwd)
    if not all(map(find_spec, ("starlette", "uvicorn"))):
        from ohm_subagents.plugin import install_command

        complain(
            f"`ohm ui` needs starlette and uvicorn, which are not installed. Install them: {install_command('ui')}"
        )
        raise typer.Exit(BAD_USAGE)
    if export is None and (output is not None or force):
        name, what = ("--force", "replaces") if output is None else ("--output", "is")
        complain(f"{name} {what} the file of an exported page: add --export <id>.")
        raise typer.Exit(BAD_USAGE)
    if export is not None:
        from ohm_subagents.ui.exporting import export_task

        finish(lambda: export_task(export, output, force=force, cwd=place, config=config))
    from ohm_subagents.ui.serving import serve_page

    finish(lambda: serve_page(port, cwd=place, config=config, opens_browser=not no_browser))
