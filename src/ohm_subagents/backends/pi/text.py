"""The degraded mode: one prompt in, plain text out, with the documented command line."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from ohm_subagents.backends.pi.failures import broken_off, interrupted
from ohm_subagents.backends.pi.flags import tools_allowed
from ohm_subagents.backends.pi.notices import warnings
from ohm_subagents.backends.pi.reader import ROUTE, RUNTIME
from ohm_subagents.contract.diagnostics import CUT_OFF, Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised, TextDelta
from ohm_subagents.contract.model_route import RouteResolved
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.plugin import RunOutput
from ohm_subagents.redaction import redacted_line, redacted_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import RunEvent
    from ohm_subagents.contract.result import Result
    from ohm_subagents.plugin import RunRequest
    from ohm_subagents.shell import Ended

_ARGUMENTS: Final = ("--print", "--no-session", "--no-extensions")
_MAX_ARGUMENT_BYTES: Final = 100_000
"""Linux takes 128 KiB in one argument."""
_MAX_OUTPUT_BYTES: Final = 8_000_000
_INTERRUPTED: Final = 130
_HEADER: Final = re.compile(r"[ \t]*(backend|provider|model|runtime|route)[ \t]*:(.*)", re.IGNORECASE)
_EXPECTED: Final = re.compile(r"backend: .+\nprovider: .+\nmodel: .+")
"""The one header that is no part of an answer for certain."""


def text_arguments(request: RunRequest) -> tuple[str, ...]:
    """Return the arguments after the command: the documented ones, the model, and the prompt, unless it is too long.

    The documented tools are those of a profile that may use all seven; one that may not does not get them here either.
    """
    model = ("--model", str(request.model)) if request.model is not None else ()
    prompt = composed(request)
    return (*_ARGUMENTS, *tools_allowed(request), *model, *((prompt,) if _is_argument(request, prompt) else ()))


def text_prompt(request: RunRequest) -> str:
    """Return what is written to standard input."""
    prompt = composed(request)
    return "" if _is_argument(request, prompt) else prompt


def composed(request: RunRequest) -> str:
    """Return the prompt, below who the subagent is, or below what it was asked before."""
    if request.history:
        return _follow_up(request)
    return _start(request) if request.profile.agent is None else request.prompt


def _is_argument(request: RunRequest, prompt: str) -> bool:
    return request.profile.agent is None and len(prompt.encode(errors="replace")) <= _MAX_ARGUMENT_BYTES


def _start(request: RunRequest) -> str:
    profile = request.profile
    uses = ["When to use:", *(f"- {use}" for use in profile.when_to_use)] if profile.when_to_use else []
    lines = [
        f"You are the {profile.name} subagent in Pi OHM.",
        "",
        f"Subagent summary: {profile.summary}",
        *uses,
        "",
        "Profile scaffold guidance:",
        profile.prompt.strip(),
        "",
        f"Task description: {request.description}",
        "",
        "User task:",
        request.prompt,
        "",
        "Return concrete findings/results. Avoid repeating this prompt verbatim.",
    ]
    return "\n".join(lines)


def _follow_up(request: RunRequest) -> str:
    lines = [
        f"You are continuing the {request.profile.name} subagent task.",
        f"Task description: {request.description}",
        "",
        "Task history:",
        *(f"{number}. {exchange.prompt}" for number, exchange in enumerate(request.history, 1)),
        "",
        "Latest follow-up request:",
        request.prompt,
        "",
        "Return only the updated findings/result.",
    ]
    return "\n".join(lines)


class TextReader:
    """Collects what `pi --print` writes, up to 8 MB.

    A leading block of `provider: …` lines is read as who did the work, and nothing else is: an answer may hold such
    lines. A block that is not `backend: provider: model:` may be the answer's own, so a diagnostic quotes it.
    `secrets` are cut out of that, and of what it wrote on standard error.
    """

    def __init__(self, request: RunRequest, *, secrets: Sequence[str]) -> None:
        self._request = request
        self._secrets = secrets
        self._lines: list[bytes] = []
        self._size = 0
        self._is_full = False

    def read(self, line: bytes) -> Iterable[RunEvent]:
        """See `Reader`. Nothing is reported before the end."""
        room = _MAX_OUTPUT_BYTES - self._size
        self._size += len(line) + 1
        if room > 0:
            self._lines.append(line[:room])
        self._is_full = self._is_full or len(line) > room
        return ()

    @property
    def is_over(self) -> bool:
        """Only the end of the process is the end."""
        return False

    def last(self, ended: Ended) -> Iterable[RunEvent]:
        """See `Reader`. The route is reported of work that was done."""
        yield from warnings(ended.stderr, self._secrets)
        if self._is_full:
            cut = Diagnostic(subject="pi", message=f"{CUT_OFF} at 8 MB of text.")
            yield DiagnosticRaised(diagnostic=cut)
        if ended.code != 0:
            if said := redacted_text(self._said, self._secrets):
                yield TextDelta(text=said)  # nothing but its end says that it failed: what it wrote is partial work
        else:
            header, _ = _parted(self._text(ended))
            if header and _EXPECTED.fullmatch("\n".join(header)) is None:
                said = redacted_line("; ".join(header), self._secrets)
                taken = f"Read as the provider and model, not as part of the answer: {said}."
                yield DiagnosticRaised(diagnostic=Diagnostic(subject="pi", message=taken))
            known = _known(header)
            yield RouteResolved(
                provider=known.get("provider", ""),
                model=known.get("model", ""),
                runtime=known.get("runtime", RUNTIME),
                route=ROUTE,
                served_model=known.get("model", ""),
            )

    def outcome(self, ended: Ended) -> Result[RunOutput, OhmError]:
        """See `Reader`. There is nothing but the exit code to go by."""
        if ended.code == _INTERRUPTED:
            return Err(interrupted())
        if ended.code != 0:
            stderr, secrets = ended.stderr, self._secrets
            return Err(broken_off(self._request, code=ended.code, stderr=stderr, secrets=secrets))
        _, answer = _parted(self._text(ended))
        return Ok(RunOutput(text=answer or "(no output)"))

    @property
    def _said(self) -> str:
        return b"\n".join(self._lines).decode("utf-8", "replace").strip()

    def _text(self, ended: Ended) -> str:
        return self._said or redacted_text(ended.stderr.strip(), self._secrets)


def _parted(text: str) -> tuple[list[str], str]:
    """Return the lines of a leading block of metadata, and the text below it; line ends are line feeds."""
    lines = text.replace("\r\n", "\n").split("\n")
    header = list(takewhile(_HEADER.fullmatch, lines))
    return header, "\n".join(lines[len(header) :]).strip()


def _known(header: Iterable[str]) -> dict[str, str]:
    """Return the values of the lines by name; a blank value is left out."""
    known: dict[str, str] = {}
    for name, value in (found.groups() for line in header if (found := _HEADER.fullmatch(line)) is not None):
        if value.strip():
            known["runtime" if name.lower() == "backend" else name.lower()] = value.strip()
    return known
