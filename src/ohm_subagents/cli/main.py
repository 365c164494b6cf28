"""The `ohm` command: each command reads what was typed, asks `Ohm`, and prints; the rules are elsewhere."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from ohm_subagents._terminal.terminal import OutputLost
from ohm_subagents.cli.list_commands import tasks_app
from ohm_subagents.cli.plugin_commands import OWN, PluginCommands
from ohm_subagents.cli.run_commands import call, run
from ohm_subagents.cli.serve import serve
from ohm_subagents.cli.task_commands import TASK_COMMANDS
from ohm_subagents.commands import (
    BAD_USAGE,
    HERE,
    TASK_FAILED,
    Config,
    Cwd,
    complain,
    directory,
    finish,
    harmless,
    inspect,
    print_text,
    typed_path,
)

_EXAMPLES: Final = """Examples:

\b
  ohm doctor
  ohm run finder "Where is task output truncated?"
  ohm run oracle "Review the retry logic" --json
  ohm run task "Look around." --allow read --allow "bash: git diff *"
  ohm call task '{"op": "start", "subagent_type": "finder", "description": "Find main", "prompt": "Where is main?"}'
"""
app = typer.Typer(
    cls=PluginCommands,
    help="Hand a focused task to a subagent and get one honest result back.",
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
config_app = typer.Typer(help="Show the configuration, or its schema.", rich_markup_mode=None)
OWN.add_typer(config_app, name="config")
policy_app = typer.Typer(help="Explain who may run.", no_args_is_help=True, rich_markup_mode=None)
OWN.add_typer(policy_app, name="policy")
OWN.add_typer(tasks_app, name="tasks")
OWN.command(context_settings={"allow_extra_args": True})(run)
OWN.command()(call)
OWN.command(short_help="Own tasks that outlive their programs.")(serve)

_YOUNG: Final = 50_000
"""New objects before a garbage collection: nearly all that a start makes is there to stay."""
_READER_GONE: Final = 141
"""The exit code of other tools then, as a shell tells their signal."""
_LOST: Final = frozenset({errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO})


@OWN.command()
def subagents(
    *,
    every: Annotated[bool, typer.Option("--all", help="List the agents of every kind, with their files.")] = False,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """List the subagents."""
    from ohm_subagents.cli.roster import print_every_agent, print_roster

    inspect(print_every_agent if every else print_roster, cwd=cwd, config=config)


@OWN.command()
def subagent(
    profile: Annotated[str, typer.Argument(metavar="id", help="Id of the subagent, or of a task.")],
    *,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Show one subagent."""
    from ohm_subagents.cli.roster import print_profile

    inspect(partial(print_profile, profile), cwd=cwd, config=config)


@OWN.command(short_help="List the plugins and their faults.")
def plugins(cwd: Cwd = HERE, config: Config = None) -> None:
    """List the plugins and their faults."""
    from ohm_subagents.cli.plugins import print_plugins

    inspect(print_plugins, cwd=cwd, config=config)


@OWN.command(short_help="List the mounted tools and their origin.")
def tools(cwd: Cwd = HERE, config: Config = None) -> None:
    """List the mounted tools, each with its suite and its plugin."""
    from ohm_subagents.cli.plugins import print_tools

    inspect(print_tools, cwd=cwd, config=config)


@OWN.command(short_help="Check configuration, keys, models, backends.")
def doctor(cwd: Cwd = HERE, config: Config = None) -> None:
    """Check configuration, keys, models, backends and plugins; exit with 1 if something configured cannot work."""
    from ohm_subagents.cli.doctor import doctor

    finish(partial(doctor, cwd=directory(cwd), config=config))


@OWN.command(short_help="List the names of models, and the defaults.")
def models(cwd: Cwd = HERE, config: Config = None) -> None:
    """List the names of models with what they stand for, and the models that run where nothing names one."""
    from ohm_subagents.cli.models import print_models

    inspect(print_models, cwd=cwd, config=config)


@OWN.command(short_help="Trust a project's files for subagents.")
def trust(
    project: Annotated[
        Path, typer.Argument(metavar="path", help="Directory of the project.", show_default="here", parser=typed_path)
    ] = HERE,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what trust would allow; trust nothing.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Stop trusting the project.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the trusted projects.")] = False,
) -> None:
    """Trust the files of a project for subagents as they are now, and list what that allows."""
    from ohm_subagents.cli import trust as command

    if listed and (dry_run or forget or project != HERE):
        complain("--list lists all trusted projects: leave out the path and every other option.")
        raise typer.Exit(BAD_USAGE)
    if dry_run and forget:
        complain("--dry-run shows what trust would allow, and --forget ends it: leave one of them out.")
        raise typer.Exit(BAD_USAGE)
    if listed:
        finish(command.print_trusted)
    else:
        wanted = command.forget if forget else command.preview if dry_run else command.trust
        finish(partial(wanted, directory(project)))


@config_app.callback(invoke_without_command=True)
def config_alone(context: typer.Context) -> None:
    """Show the configuration, or its schema; without a command, as `show` does."""
    if context.invoked_subcommand is None:
        config_show()


@config_app.command("show")
def config_show(
    *,
    origin: Annotated[bool, typer.Option("--origin", help="Show where each value comes from.")] = False,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Print the configuration in force, as JSON."""
    from ohm_subagents.cli.configuration import print_config, print_origins

    inspect(print_origins if origin else print_config, cwd=cwd, config=config)


@config_app.command("schema")
def config_schema() -> None:
    """Print the JSON Schema of ohm.json."""
    from ohm_subagents.cli.configuration import print_schema

    finish(print_schema)


@policy_app.command("explain", short_help="Show whether a subagent may run, and why.")
def policy_explain(
    profile: Annotated[str, typer.Argument(metavar="id", help="Id of the subagent, or of a task.")],
    *,
    tool: Annotated[str, typer.Option(help="Also whether it may use this tool.")] = "",
    args: Annotated[str, typer.Option(help="With --tool: the command, the path, or all arguments as JSON.")] = "",
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Show whether a subagent may run, and which file and line, or plugin, decides; exit with 1 if it may not.

    With --tool, also whether it may use the tool, and each step to that verdict: lists, rules, and the tasks above.
    """
    from ohm_subagents.cli.policy import print_verdict

    inspect(partial(print_verdict, profile, tool=tool, command=args, file=config), cwd=cwd, config=config)


for command, summary in TASK_COMMANDS.items():
    OWN.command(short_help=summary)(command)


def _version(wanted: bool) -> None:  # noqa: FBT001  typer calls it so
    if wanted:
        from importlib.metadata import version

        print_text(f"ohm {version('ohm-subagents')}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Hand a focused task to a subagent and get one honest result back."""


def main() -> None:
    """Run the `ohm` command: its entry point."""
    gc.set_threshold(_YOUNG)
    atexit.register(gc.freeze)  # everything ends with the process: a last collection frees nothing
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] None when the shell closed it
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  for as long as the program lives
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] as above, it may be closed
        complain("Standard output is closed: there is no place for an answer.")
        sys.exit(TASK_FAILED)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stderr = harmless(sys.stderr)
    try:
        app()
    except (OutputLost, OSError) as lost:
        if lost.args[0] not in _LOST:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that the interpreter can flush what is left
        if lost.args[0] == errno.EPIPE:  # whoever reads it has had enough, as `head` has
            sys.exit(_READER_GONE)
        complain(f"Cannot write to standard output: {lost.args[1]}.")
        sys.exit(TASK_FAILED)
