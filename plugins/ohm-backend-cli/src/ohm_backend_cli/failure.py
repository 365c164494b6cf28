"""What went wrong, as one of our errors, from what a CLI said of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.plugin import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.shell import Ended

_MAX_DETAIL: Final = 300
_STATUS: Final = re.compile(
    r"(?:API Error:?|status(?: code)?|HTTP(?:/[\d.]+)?|\"?(?:code|status)\"?:)\s*([45]\d\d)\b", re.I
)
_KEYS: Final = re.compile(r"(?:\bsk-|\bgsk_|\bxai-|\bAIza|\bBearer\s+)[\w*.\-]{4,}")
_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")
_NOISE: Final = re.compile(r"\s*$|\s*WARN|\s*Warning:|\s+at |\s*\d+: |Stack backtrace|\[STARTUP\]")


@dataclass(frozen=True, slots=True)
class _Row:
    """`says` continues the name of the CLI; `quotes` adds what it wrote."""

    code: ErrorCode
    says: str
    advice: str
    retryable: bool = False
    quotes: bool = True


_TRY_AGAIN: Final = "Try again later, or choose another model."
_KEY_MISSING: Final = _Row(
    ErrorCode.MODEL_KEY_MISSING,
    "is not logged in and has no key",
    "Log in with it once, or set the key of its provider in the environment.",
)
_REFUSED_KEY: Final = _Row(
    ErrorCode.PROVIDER_AUTHENTICATION,
    "was refused by its provider: the key or the login is not accepted",
    "Check the key, or log in again.",
    quotes=False,  # providers repeat parts of the key here
)
_QUOTA: Final = _Row(
    ErrorCode.PROVIDER_QUOTA_EXCEEDED,
    "was refused because the quota or credit of the account is used up",
    "Add credit at the provider, or choose another provider.",
)
_RATE: Final = _Row(ErrorCode.PROVIDER_RATE_LIMITED, "was told to slow down", _TRY_AGAIN, retryable=True)
_WINDOW: Final = _Row(
    ErrorCode.CONTEXT_WINDOW_EXCEEDED,
    "has more text than the model can take",
    "Start a new session, narrow the task, or choose a model with a larger window.",
)
_UNKNOWN_MODEL: Final = _Row(
    ErrorCode.MODEL_UNKNOWN, "does not know the model", "Check the model's name, and the provider's base URL."
)
_REJECTED: Final = _Row(
    ErrorCode.PROVIDER_REQUEST_REJECTED,
    "had its request rejected by the provider",
    "Sending it again will not help; choose another model, or report it with the text above.",
)
_DOWN: Final = _Row(
    ErrorCode.PROVIDER_UNAVAILABLE, "found its provider failing or overloaded", _TRY_AGAIN, retryable=True
)
_SILENT: Final = _Row(ErrorCode.PROVIDER_TIMEOUT, "had no answer from its provider in time", _TRY_AGAIN, retryable=True)
_UNREACHED: Final = _Row(
    ErrorCode.PROVIDER_CONNECTION_FAILED,
    "could not reach its provider, or lost the connection",
    "Check the network and the provider's base URL, then try again.",
    retryable=True,
)
_EMPTY: Final = _Row(
    ErrorCode.PROVIDER_EMPTY_RESPONSE,
    "gave an empty answer",
    "Try again, or choose another model.",
    retryable=True,
    quotes=False,
)
_FILTERED: Final = _Row(
    ErrorCode.CONTENT_FILTERED,
    "did not answer because its provider's content filter stopped it",
    "Rephrase the prompt, or choose another model.",
    quotes=False,
)
_UNTRUSTED: Final = _Row(
    ErrorCode.BACKEND_FAILED,
    "does not run in a folder that it has not been told to trust",
    "Trust the folder with it once; only that makes it read the settings that are in the folder.",
)
_LOST: Final = _Row(
    ErrorCode.BACKEND_FAILED,
    "no longer has the session that was to be continued",
    "Start a new task; sessions are kept by the command itself, for one user and one folder.",
)
_OTHER: Final = _Row(ErrorCode.BACKEND_FAILED, "failed", "Run the command by hand to see more.")

_BY_STATUS: Final = {
    401: _REFUSED_KEY,
    402: _QUOTA,
    403: _REFUSED_KEY,
    404: _UNKNOWN_MODEL,
    408: _SILENT,
    429: _RATE,
    504: _SILENT,
}


def _any(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


# The first row whose words are there. These say more than a status does.
_TELLING: Final = (
    (_any("context.?(window|length)", "prompt is too long", "maximum context"), _WINDOW),
    (_any("insufficient_quota", "credit balance", "exceeded your current quota", "billing"), _QUOTA),
    (
        _any(
            *("not logged in", "please run /login", "no auth type", "invalid auth method", "no api key"),
            *("key (is )?missing", "missing (api key|environment variable)", r"must specify the \S*key"),
        ),
        _KEY_MISSING,
    ),
    (_any("trusted (directory|folder)"), _UNTRUSTED),
    (_any("content.?filter"), _FILTERED),
    (_any("no (conversation|saved session|rollout) found", "session not found", "invalid session id"), _LOST),
)
# And these say it when there is none.
_WORDS: Final = (
    (_any("unauthori[sz]ed", "authentication", "invalid (x-)?(api.?)?key", "permission.?denied"), _REFUSED_KEY),
    (_any("rate.?limit", "too many requests", "resource.?exhausted"), _RATE),
    (_any("overloaded", "unavailable", "internal server error", "bad gateway"), _DOWN),
    (_any("timed? ?out", "deadline exceeded"), _SILENT),
    (
        _any(
            "econn",
            "enotfound",
            "getaddrinfo",
            "fetch failed",
            "connection (error|refused|reset|closed)",
            "disconnected",
        ),
        _UNREACHED,
    ),
    (_any(r"model\b.{0,80}\bnot (found|exist|supported)", "unknown model", "ProviderModelNotFound"), _UNKNOWN_MODEL),
    (_any("empty response"), _EMPTY),
    (_any("invalid.?request", "bad request"), _REJECTED),
)


def failure(cli: str, said: str, *, status: int | None, env: Mapping[str, str]) -> OhmError:
    """The error of a run of which `cli` said that it has failed.

    `status` is what the provider answered, where that is known; otherwise it is looked for in the words. Values of
    `env` that are secrets, and what looks like a key, are cut out of them.
    """
    found = _STATUS.search(said)
    status = status or (int(found[1]) if found else None)
    row = _row(said, status)
    where = f" (HTTP {status})" if status else ""
    detail = _quoted(said, env) if row.quotes else ""
    return _error(cli, row, f"{where}{detail}")


def cut_short(cli: str, ended: Ended, hint: str, *, env: Mapping[str, str]) -> OhmError:
    """The process ended before it said that the run had: from its last words, and how it ended."""
    words = hint or _last_words(ended.stderr)
    found = _STATUS.search(words)
    row = _row(words, int(found[1]) if found else None)
    if row is not _OTHER:
        return failure(cli, words, status=None, env=env)
    return _error(cli, _OTHER, f": it {_how(ended)} before it had answered{_quoted(words, env)}")


def left_badly(cli: str, ended: Ended, *, env: Mapping[str, str]) -> OhmError:
    """The process said that it has answered, and then ended as one that has failed."""
    return _error(cli, _OTHER, f": it answered, but then {_how(ended)}{_quoted(_last_words(ended.stderr), env)}")


def empty(cli: str) -> OhmError:
    """The run ended well and without a word."""
    return _error(cli, _EMPTY)


def _error(cli: str, row: _Row, detail: str = "") -> OhmError:
    return OhmError(code=row.code, message=f"{cli} {row.says}{detail}.", advice=row.advice, retryable=row.retryable)


def _row(said: str, status: int | None) -> _Row:
    for words, row in _TELLING:
        if words.search(said):
            return row
    if status is not None:
        return _BY_STATUS.get(status, _DOWN if status >= 500 else _REJECTED)
    for words, row in _WORDS:
        if words.search(said):
            return row
    return _OTHER


def _how(ended: Ended) -> str:
    if ended.was_stopped:
        return "was stopped"
    return f"was ended by signal {-ended.code}" if ended.code < 0 else f"ended with exit code {ended.code}"


def _last_words(stderr: str) -> str:
    """The line that says what is wrong: the first of a known kind, or of an error, else the last, without noise."""
    lines = [line.strip() for line in _COLOUR.sub("", stderr).splitlines() if not _NOISE.match(line)]
    known = (line for line in lines if _row(line, None) is not _OTHER)
    errors = (line for line in lines if "error" in line.lower())
    return next(known, next(errors, lines[-1] if lines else ""))


def _quoted(said: str, env: Mapping[str, str]) -> str:
    """`: what was said`, on one line, without secrets, capped."""
    said = _message(said)
    for name, value in env.items():
        if len(value) >= 6 and _SECRET_NAME.search(name.upper()):
            said = said.replace(value, "***")
    said = " ".join(_KEYS.sub("***", said).split()).rstrip(".")
    cut = f"{said[:_MAX_DETAIL]}…" if len(said) > _MAX_DETAIL else said
    return f": {cut}" if cut else ""


def _message(said: str) -> str:
    """The message in an error that is JSON, as providers write it and CLIs pass it on."""
    start, end = said.find("{"), said.rfind("}")
    if start < 0 or end < start:
        return said
    try:
        body = json.loads(said[start : end + 1])
    except (ValueError, RecursionError):
        return said
    match body:
        case {"error": {"message": str(message)}} | {"message": str(message)} | {"error": str(message)}:
            return message
        case _:
            return said
