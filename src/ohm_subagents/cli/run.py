"""`ohm run`: one task, watched live on a terminal, its answer alone in a pipe."""

from __future__ import annotations

import signal
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._terminal.exits import SUCCESS, complain, report
from ohm_subagents._terminal.live import TaskWatch, drawn, finished_lines
from ohm_subagents._terminal.signals import until_signal
from ohm_subagents._terminal.terminal import is_terminal, print_json, print_prose, print_text, width
from ohm_subagents._views.projection import project, project_task
from ohm_subagents._views.reply_lines import lines_of
from ohm_subagents.cli.failure import exit_code
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.truncation import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import Envelope, OhmError, Task
    from ohm_subagents.contract.result import Result

    _Ended = Result[Envelope, OhmError] | signal.Signals


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `ohm run`, as typed."""

    profile: str
    prompt: str
    model: str | None
    backend: str | None
    cwd: Path
    config: Path | None
    as_json: bool


async def run(options: RunOptions) -> int:
    """Run one task to its end and print it; the exit code."""
    from ohm_subagents import Ohm

    async with Ohm.open(cwd=options.cwd, config=options.config) as ohm:
        told = ohm.diagnostics
        report(told)
        watch = TaskWatch()
        is_live = is_terminal() and not options.as_json
        work = partial(
            ohm.run,
            options.profile,
            options.prompt,
            model=options.model,
            backend=options.backend,
            observer=watch,
        )
        with drawn(watch.frame) if is_live else nullcontext():
            ended = await until_signal(work)
        if watch.task is not None:
            report(watch.task.diagnostics)
        if options.as_json:
            _print_envelope(ended, watch.task, ohm.config)
        else:
            _print_answer(ended, watch.task, is_live=is_live)
    report([each for each in ohm.diagnostics if each not in told])  # say that the task could not be kept
    return _code(ended, watch.task)


def _code(ended: _Ended, task: Task | None) -> int:
    match ended:
        case Ok():
            return SUCCESS
        case Err(error):
            return exit_code(code=error.code, category=error.resolved_category, started=task is not None)
        case signal.Signals():
            return 128 + ended


def _print_envelope(ended: _Ended, task: Task | None, config: OhmConfig) -> None:
    """Exactly one, however it ended."""
    match ended:
        case Ok(envelope):
            print_json(envelope.payload())
        case Err(error) if task is None:
            refused = CommandRejected(error=error, backend=config.subagent_backend)
            print_json(project(lines_of(refused), output_max_chars=config.output_max_chars).payload())
        case Err() | signal.Signals():
            if task is not None:
                print_json(project_task(task, output_max_chars=WHOLE).payload())


def _print_answer(ended: _Ended, task: Task | None, *, is_live: bool) -> None:
    """A success on standard output; a failure, and what was done until then, on standard error."""
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
            complain(ended.err_value if isinstance(ended, Err) else "Interrupted.")


def _tree(task: Task | None) -> str:
    return "" if task is None else "\n".join(finished_lines(task, width=width())) + "\n"
