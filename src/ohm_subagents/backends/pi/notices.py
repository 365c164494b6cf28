"""Diagnostics of what `pi` did otherwise than asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ohm_subagents.backends.pi.records import as_record, as_text, wording
from ohm_subagents.plugin import CUT_OFF, Diagnostic, DiagnosticRaised, RequestNeed, Severity
from ohm_subagents.redaction import redacted_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ohm_subagents.backends.pi.records import Record
    from ohm_subagents.plugin import Gate, ModelPattern, Usage

_WARNING: Final = re.compile(r"^Warning:\s*(.+)$", re.MULTILINE)
_MAX_WARNINGS: Final = 20


def cut_off() -> DiagnosticRaised:
    """Return an answer that has text, but not all of it."""
    return _notice(f"{CUT_OFF} at the model's output token limit.")


def substituted(asked: ModelPattern | None, provider: str, model: str) -> Iterable[DiagnosticRaised]:
    """Another provider than the one that was asked for; another model of it is told by the engine."""
    if asked is not None and asked.provider != provider.lower():
        yield _notice(f'pi took model "{provider}/{model}" for "{asked.provider}/{asked.model}".')


def unpriced(gate: Gate | None, usage: Usage, provider: str, model: str) -> Iterable[DiagnosticRaised]:
    """Warn of a cost budget that does not limit this model, because `pi` reported no cost."""
    if gate is None or usage.cost_usd is not None or not (usage.input_tokens or usage.output_tokens):
        return
    error = gate.unpriced(RequestNeed(provider=provider, model=model))
    if error is not None:
        yield _notice(error.message)


def retried(record: Record, secrets: Sequence[str]) -> DiagnosticRaised:
    said = redacted_line(wording(as_text(record.get("errorMessage"))), secrets)
    return _notice(f"A model request failed and is made again{f': {said}' if said else ''}.", severity="info")


def compacted(record: Record, secrets: Sequence[str]) -> Iterable[DiagnosticRaised]:
    if as_record(record.get("result")):
        yield _notice("pi shortened the conversation, to make room in the model's context window.", severity="info")
    elif said := redacted_line(wording(as_text(record.get("errorMessage"))), secrets):
        yield _notice(f"pi could not shorten the conversation: {said}.")


def warnings(stderr: str, secrets: Sequence[str]) -> Iterable[DiagnosticRaised]:
    """Yield the warnings of `pi` on standard error, each once."""
    found = dict.fromkeys(redacted_line(said, secrets) for said in _WARNING.findall(stderr))
    return tuple(_notice(f"{said}.", subject="pi") for said in list(found)[:_MAX_WARNINGS])


def _notice(message: str, *, severity: Severity = "warning", subject: str = "model") -> DiagnosticRaised:
    return DiagnosticRaised(diagnostic=Diagnostic(subject=subject, message=message, severity=severity))
