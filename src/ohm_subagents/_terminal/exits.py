"""The end of a command: exit codes, and one sentence on standard error. `--help` loads this: no pydantic, no engine."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer

from ohm_subagents._views.cells import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from ohm_subagents.contract import Diagnostic

SUCCESS: Final = 0
TASK_FAILED: Final = 1
BAD_USAGE: Final = 2
INTERRUPTED: Final = 130
"""SIGINT; another signal is 128 and its number, as in a shell."""


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


def complain(text: object) -> None:
    """Tell a person what is wrong, on standard error."""
    with suppress(OSError):  # nobody listens
        print(printable(str(text)), file=sys.stderr, flush=True)


def report(diagnostics: Iterable[Diagnostic]) -> None:
    """Diagnostics on standard error, each once."""
    for line in dict.fromkeys(f"{diagnostic.severity}: {diagnostic}" for diagnostic in diagnostics):
        complain(line)
