"""The verdict of the checks of an outcome, in words and as a part of an envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents._views.cells import one_line
from ohm_subagents._views.quantities import counted, duration_text
from ohm_subagents.contract.truncation import shortened
from ohm_subagents.contract.verification import CheckBlock, VerificationBlock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.acceptance import CheckResult, OutcomeChecked, Verified
    from ohm_subagents.contract.task import Task

_WHY_CHARS = 300


class Verification(NamedTuple):
    """The verdict on the outcome of a task, why nothing ran if so, and the newest evidence."""

    verified: Verified
    why: str
    checked: OutcomeChecked | None


def verification(task: Task) -> Verification | None:
    """Return the verdict on the outcome of a task; None without checks, and while it is not known.

    A run that ended without an answer may have changed what had passed: only what had failed still stands.
    """
    runs = task.runs
    newest = next((run.checked for run in reversed(runs) if run.checked is not None), None)
    if newest is not None and (runs[-1].checked is newest or newest.verified == "failed"):
        return Verification(newest.verified, "", newest)
    if not task.is_terminal or task.launch is None or task.launch.accept is None:
        return None
    whys = {"failed": "the run failed", "cancelled": "the task was cancelled"}
    return Verification("not_run", whys.get(task.status, "there was no answer to check"), None)


def verification_block(found: Verification) -> VerificationBlock:
    """Return the evidence as a part of an envelope."""
    checked = found.checked
    return VerificationBlock(
        why=found.why or None,
        attempts=0 if checked is None else checked.attempt,
        checks=[] if checked is None else [_check_block(one) for one in checked.checks],
    )


def verified_line(task: Task) -> str | None:
    """Return the verdict in one line; None without checks, and while it is not known."""
    found = verification(task)
    if found is None:
        return None
    if found.checked is None:
        return f"not run: {found.why}"
    wrong = [one for one in found.checked.checks if one.verdict != "passed"]
    told = "; ".join(f"{one_line(one.check)}: {one_line(one.why)}" for one in wrong)
    number = counted(len(found.checked.checks), "check")
    if wrong and len(wrong) < len(found.checked.checks):
        number = f"{len(wrong)} of {number}"
    words = f"{found.verified.replace('_', ' ')} ({number}{_again(found.checked)})"
    return shortened(f"{words}: {told}", _WHY_CHARS) if told else words


def verification_lines(task: Task) -> Iterator[str]:
    """Yield the verdict, then each check with the end of what it wrote if it did not pass."""
    line = verified_line(task)
    if line is None:
        return
    found = verification(task)
    checked = None if found is None else found.checked
    if checked is None:
        yield line
        return
    yield f"{checked.verified.replace('_', ' ')}{_again(checked)}"
    for one in checked.checks:
        yield check_text(one)


def check_text(result: CheckResult) -> str:
    """Return the evidence of one check; the output only of one that did not pass."""
    took = duration_text(result.duration_ms)
    head = f"{result.verdict.replace('_', ' ')}  {one_line(result.check)} ({took})"
    parts = [head, *([f"  {one_line(result.why)}"] if result.why else [])]
    if result.verdict != "passed":
        parts += [f"  | {line}" for line in result.output.splitlines()]
    return "\n".join(parts)


def _again(checked: OutcomeChecked) -> str:
    return f", attempt {checked.attempt}" if checked.attempt > 1 else ""


def _check_block(result: CheckResult) -> CheckBlock:
    return CheckBlock(
        check=result.check,
        verdict=result.verdict,
        why=result.why or None,
        exit_code=result.exit_code,
        duration_ms=result.duration_ms,
        output=result.output or None,
    )
