"""`ohm run` and `ohm call`: one task, or one call of a tool, live on a terminal, its answer alone in a pipe."""

from __future__ import annotations

import signal
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json

from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    TASK_FAILED,
    TaskWatch,
    call_live,
    complain,
    drawn,
    finished_lines,
    is_terminal,
    print_json,
    print_prose,
    print_refusal,
    print_text,
    report,
    until_signal,
    width,
)
from ohm_subagents.contract import Category, CommandRejected, Err, ErrorCode, Ok
from ohm_subagents.contract.text import encodable
from ohm_subagents.contract.truncation import WHOLE
from ohm_subagents.views import task_envelope

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents import Ohm
    from ohm_subagents.contract import Envelope, OhmError, Result, Task
    from ohm_subagents.suite import ToolResult

    _Ended = Result[Envelope, OhmError] | signal.Signals

_MISCONFIGURED: Final = frozenset(
    {
        ErrorCode.CONFIG_INVALID,
        ErrorCode.UNSUPPORTED_BACKEND,
        ErrorCode.BACKEND_OPTIONS_INVALID,
        ErrorCode.MODEL_UNKNOWN,
    }
)
_MISUSED: Final = frozenset({Category.VALIDATION, Category.NOT_FOUND})


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The options that `ohm run` and `ohm call` share."""

    cwd: Path
    config: Path | None
    as_json: bool


async def run(profile: str, prompt: str, *, model: str | None, backend: str | None, typed: Typed) -> int:
    """Run one task to its end and print it; return the exit code."""
    async with _opened(typed) as (ohm, told):
        watch = TaskWatch()
        is_live = is_terminal() and not typed.as_json
        work = partial(ohm.run, profile, prompt, model=model, backend=backend, observer=watch)
        with drawn(watch.frame) if is_live else nullcontext():
            ended = await until_signal(work)
        if watch.task is not None:
            report(one for one in watch.task.diagnostics if one.text not in told)
        if typed.as_json:
            _print_envelope(ended, watch.task, ohm.config.subagent_backend)
        elif isinstance(ohm.inspect().loaded, Ok):  # else all that is to say has been reported
            _print_answer(ended, watch.task, is_live=is_live, told=told)
    match ended:
        case Ok():
            return SUCCESS
        case Err(error):
            return _exit_code(code=error.code, category=error.resolved_category, started=watch.task is not None)
        case signal.Signals():
            return 128 + ended


async def call(tool: str, arguments: str, typed: Typed) -> int:
    """Call a tool and print its result; return the exit code."""
    try:
        payload: JsonValue = from_json(encodable(arguments))
    except ValueError as error:
        why = str(error)
        if not arguments.strip():
            why = "the text is empty"
        elif why.startswith("EOF"):
            why = f"the text ends too early, at {why.partition(' at ')[2]}"
        example = '{"op": "status", "id": "task_1"}'
        complain(f"The arguments are not JSON: {why}. Type an object in single quotes, such as '{example}'.")
        return BAD_USAGE
    async with _opened(typed) as (ohm, _):
        is_live = is_terminal() and not typed.as_json
        ended, number = await call_live(ohm, tool, payload, draw=_drawn if is_live else None)
        if typed.as_json:
            print_json({} if ended is None else ended.details)
        elif number is not None:
            complain("" if ended is None else ended.render(expanded=True, width=width()))
        elif ended is not None:
            print_text(ended.render(expanded=True, width=width()) if is_live and not ended.is_error else ended.text)
    if number is not None:
        complain("Interrupted.")
        return 128 + number
    return TASK_FAILED if ended is None else _code_of(ended)


@asynccontextmanager
async def _opened(typed: Typed) -> AsyncGenerator[tuple[Ohm, frozenset[str]]]:
    """Open an `Ohm`; report what is wrong with it, and at the end what else came up, say a task that was not kept.

    Yields it with the texts that were reported.
    """
    from ohm_subagents import Ohm

    async with Ohm.open(cwd=typed.cwd, config=typed.config) as ohm:
        reported = ohm.diagnostics
        report(reported)
        yield ohm, frozenset(each.text for each in reported)
    report(each for each in ohm.diagnostics if each not in reported)


def _exit_code(*, code: str, category: str, started: bool) -> int:
    """Return 2 for a failure by what was typed or configured, else 1.

    The category of a task that had started is about its work, no longer about what was typed.
    """
    return BAD_USAGE if code in _MISCONFIGURED or (category in _MISUSED and not started) else TASK_FAILED


def _code_of(result: ToolResult) -> int:
    if not result.is_error:
        return TASK_FAILED if result.has_failed else SUCCESS
    details = result.details
    return _exit_code(
        code=str(details.get("error_code")),
        category=str(details.get("error_category")),
        started=bool(details.get("task_id")),
    )


def _print_envelope(ended: _Ended, task: Task | None, backend: str) -> None:
    """Print exactly one, however it ended."""
    match ended:
        case Ok(envelope):
            print_json(envelope.payload())
        case Err(error) if task is None:
            print_refusal(CommandRejected(error=error, backend=backend), as_json=True)
        case Err() | signal.Signals():
            if task is not None:
                print_json(task_envelope(task, output_max_chars=WHOLE).payload())


def _print_answer(ended: _Ended, task: Task | None, *, is_live: bool, told: frozenset[str]) -> None:
    """Print a success on standard output; a failure, and what was done until then, on standard error.

    A failure whose text was `told` before, as a part of a diagnostic, is not told again.
    """
    match ended:
        case Ok():
            if is_live:
                print_text(_tree(task))
            print_prose(task.output if task else "")
        case Err() | signal.Signals():
            if task is not None:
                complain(_tree(task))
                if task.text.strip():
                    complain(f"{task.text.strip()}\n")
            said = str(ended.err_value) if isinstance(ended, Err) else "Interrupted."
            if not any(said in text or said.endswith(text) for text in told):  # a diagnostic has its place apart
                complain(said)


def _tree(task: Task | None) -> str:
    return "" if task is None else "\n".join(finished_lines(task, width=width())) + "\n"


def _drawn(frame: ToolResult, columns: int, _height: int) -> str:
    return frame.render(expanded=True, width=columns)
