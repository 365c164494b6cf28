"""The frame of a command: its parameters, its directory, an `Ohm` to look at, its errors and its exit code.

`ohm --help` loads this, so it imports pydantic and the engine only where a command needs them.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeAlias

import typer

from ohm_subagents._views.cells import hung, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from ohm_subagents import Ohm
    from ohm_subagents._config.load import LoadedConfig
    from ohm_subagents.contract import CommandRejected, Diagnostic

SUCCESS: Final = 0
TASK_FAILED: Final = 1
BAD_USAGE: Final = 2
INTERRUPTED: Final = 130
"""SIGINT; another signal is 128 and its number, as in a shell."""
_DIED: Final = re.compile(r"Task '(.*)' restored from non-terminal '\w+' state and marked failed$")
"""The sentence of a store for a program, about a task whose process has died."""
_WORDS: Final = ("auto", "none")
"""The words that stand for a server, or for none, in place of a path."""


def typed_path(typed: str | Path) -> Path:
    """Read a path from the command line; an empty one, say of a variable that is not set, is not the current directory.

    Give it as `parser=typed_path` to `typer.Option` or `typer.Argument`.
    """
    if typed == "":
        message = "The path is empty. Give a path, or leave it out."
        raise typer.BadParameter(message)
    return Path(typed)


def with_config(command: str, config: Path | None) -> str:
    """Return a command of a hint with the ohm.json of `--config`: it needs that too."""
    return command if config is None else f"{command} --config {quote(str(config.absolute()))}"


def typed_server(typed: str) -> str:
    """Read a server from the command line; one that is `auto` but for its spelling is no path."""
    from ohm_subagents.contract.spelling import did_you_mean

    meant = "" if typed in _WORDS or os.path.exists(typed) else did_you_mean(typed, _WORDS)
    if meant:
        message = f"No server listens at '{typed}'. {meant}Allowed: auto, none, or the path of a socket."
        raise typer.BadParameter(message)
    return typed


def chosen_server(typed: str | None, *, cwd: Path, config: Path | None) -> str | None:
    """Return the server to open an `Ohm` with: as typed, else as configured; None for this process.

    What a subagent runs works in its own process, and ends with it, unless a server is typed.
    """
    from ohm_subagents._config.env import TASK_VARIABLE, process_env
    from ohm_subagents._config.load import load_config
    from ohm_subagents.contract.result import Ok

    env, chosen = process_env(), typed
    if typed is None and TASK_VARIABLE not in env:
        loaded = load_config(cwd=cwd, config=config, env=env)
        chosen = loaded.ok_value.config.subagents.server if isinstance(loaded, Ok) else None
    return None if chosen == "none" else chosen


def typed_text(typed: str) -> str:
    """Return a text as typed, or for `-` standard input without the line ends behind it; leave with 2 for no UTF-8."""
    if typed != STDIN:
        return typed
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").rstrip("\r\n")
    except (OSError, ValueError) as error:
        complain(f"Cannot read standard input as UTF-8: {error}.")
        raise typer.Exit(BAD_USAGE) from None


def typed_count(typed: str | int) -> int:
    """Read a whole number of at least 1 from the command line: `parser=typed_count`."""
    try:
        count = int(typed)
    except ValueError:
        count = 0
    if count < 1:
        message = f"'{typed}' is not a whole number of at least 1."
        raise typer.BadParameter(message)
    return count


def json_fault(written: str | bytes, error: ValueError) -> str:
    """Return why a text is no JSON, as a part of a sentence; `error` is what reading it raised."""
    if not written.strip():
        return "the text is empty"
    why = str(error)
    return f"the text ends too early, at {why.partition(' at ')[2]}" if why.startswith("EOF") else why


Cwd: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--cwd", help="Working directory of subagents.", show_default="here", metavar="<path>", parser=typed_path
    ),
]
Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Use this ohm.json instead of the user's and the project's.",
        metavar="<path>",
        parser=typed_path,
    ),
]
Server: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="Give the tasks to the server at this socket, or to yours (auto), which is started if there is none; none "
        "keeps them in this process. By default, subagents.server of ohm.json.",
        metavar="auto|none|<path>",
        parser=typed_server,
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]
HERE = Path()
STDIN: Final = "-"


def finish(command: Callable[[], Coroutine[Any, Any, int]]) -> NoReturn:
    """Run a command in an event loop, and leave with its exit code."""
    import anyio

    try:
        code = anyio.run(_in_its_span, command)
    except KeyboardInterrupt:
        code = INTERRUPTED
    raise typer.Exit(code)


async def _in_its_span(command: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a command in the span that the environment names, if `opentelemetry-instrument` traces this process."""
    if "opentelemetry.sdk" in sys.modules:
        from opentelemetry import context, propagate

        from ohm_subagents._config.env import TRACE_VARIABLES, process_env

        env = process_env()
        context.attach(propagate.extract({name.lower(): env[name] for name in TRACE_VARIABLES if name in env}))
    return await command()


def inspect(look: Callable[[Ohm, LoadedConfig], int], *, cwd: Path, config: Path | None) -> NoReturn:
    """Open an `Ohm`, report what is wrong with it, and leave with the exit code of `look`.

    `cwd` is as typed. Leave with 2 if it, or the configuration, cannot be read.
    """
    finish(partial(_inspected, look, directory(cwd), config))


async def _inspected(look: Callable[[Ohm, LoadedConfig], int], cwd: Path, config: Path | None) -> int:
    from ohm_subagents import Ohm
    from ohm_subagents.contract.result import Err, Ok

    async with Ohm.open(cwd=cwd, config=config) as ohm:
        report(ohm.diagnostics)
        match ohm.inspect().loaded:
            case Err():  # which is among the diagnostics
                return BAD_USAGE
            case Ok(loaded):
                return look(ohm, loaded)


def directory(typed: Path, *, as_json: bool = False) -> Path:
    """Return the absolute path of a readable directory; otherwise print the error, or its envelope, and exit with 2."""
    try:
        cwd = typed.resolve()
        if os.path.isdir(cwd) and os.access(cwd, os.R_OK | os.X_OK):
            return cwd
    except (OSError, RuntimeError, ValueError):  # the current directory was removed, or the path is a loop, or no path
        pass
    from ohm_subagents._orchestrator.admission.refusals import unreadable
    from ohm_subagents.contract import CommandRejected
    from ohm_subagents.contract.task import UNAVAILABLE

    print_refusal(CommandRejected(error=unreadable(typed), backend=UNAVAILABLE), as_json=as_json)
    raise typer.Exit(BAD_USAGE)


def print_refusal(refused: CommandRejected, *, as_json: bool) -> None:
    """Print the envelope of a refusal on standard output, or the error in it on standard error."""
    if not as_json:
        complain(refused.error)
        return
    from ohm_subagents._terminal.terminal import print_json
    from ohm_subagents._views.projection import project
    from ohm_subagents._views.reply_lines import lines_of
    from ohm_subagents.contract.truncation import WHOLE

    print_json(project(lines_of(refused), output_max_chars=WHOLE).payload())


def complain(text: object) -> None:
    """Print what is wrong on standard error, on a terminal wrapped between words."""
    shown = printable(str(text))
    with suppress(OSError, ValueError):  # it is closed
        if sys.stderr.isatty():
            shown = "\n".join(hung(shown, shutil.get_terminal_size().columns))
        print(shown, file=sys.stderr, flush=True)


def report(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics on standard error, each once; that the processes of tasks have died in words for people."""
    told = [*dict.fromkeys(diagnostics)]
    died = [found[1] for one in told if (found := _DIED.match(one.message))]
    if len(died) == 1:
        advice = f"what it did is kept, and `ohm run --resume {died[0]}` goes on with it."
        complain(f"warning: The process of task '{died[0]}' died; {advice}")
    elif died:
        complain(
            f"warning: The processes of {len(died)} tasks died; what they did is kept: `ohm tasks --status failed`."
        )
    for line in dict.fromkeys(f"{one.severity}: {one}" for one in told if not _DIED.match(one.message)):
        complain(line)
