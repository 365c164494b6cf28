"""What went wrong, from the words that `pi` has for it. The codes are those of the in-process backend."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.quoting import detail, quoted
from ohm_subagents.backends.pi.records import wording
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ohm_subagents._plugins.interfaces import RunRequest


@dataclass(frozen=True, slots=True)
class _Row:
    """`says` continues `Model "<provider>/<model>" …`; `quotes` adds what the provider wrote."""

    code: ErrorCode
    says: str
    advice: str
    retryable: bool = False
    quotes: bool = True


_TRY_AGAIN: Final = "Try again later, or choose another model."
_UNAVAILABLE: Final = _Row(ErrorCode.PROVIDER_UNAVAILABLE, "is unavailable or overloaded", _TRY_AGAIN, retryable=True)
_REJECTED: Final = _Row(
    ErrorCode.PROVIDER_REQUEST_REJECTED,
    "rejected the request",
    "Sending it again will not help; choose another model, or report it with the text above.",
)
_TIMEOUT: Final = _Row(ErrorCode.PROVIDER_TIMEOUT, "did not answer in time", _TRY_AGAIN, retryable=True)
_RATE: Final = _Row(ErrorCode.PROVIDER_RATE_LIMITED, "is rate-limited", _TRY_AGAIN, retryable=True)
_AUTHENTICATION: Final = _Row(
    ErrorCode.PROVIDER_AUTHENTICATION,
    "refused the key",
    "Check the provider's key and that it may use this model.",
    quotes=False,  # providers repeat parts of the key here
)
_QUOTA: Final = _Row(
    ErrorCode.PROVIDER_QUOTA_EXCEEDED,
    "refused because the quota or credit of the account is used up",
    "Add credit at the provider, or choose another provider.",
)
_UNKNOWN: Final = _Row(
    ErrorCode.MODEL_UNKNOWN, "is not known to its provider", "Check the model's name, and the provider's base URL."
)
_CONTEXT: Final = _Row(
    ErrorCode.CONTEXT_WINDOW_EXCEEDED,
    "cannot take this much text: the conversation exceeds its context window",
    "Start a new session, narrow the task, or choose a model with a larger window.",
)
_FILTERED: Final = _Row(
    ErrorCode.CONTENT_FILTERED,
    "did not answer because its provider's content filter stopped it",
    "Rephrase the prompt, or choose another model.",
)
_CONNECTION: Final = _Row(
    ErrorCode.PROVIDER_CONNECTION_FAILED,
    "could not be reached, or broke the connection",
    "Check the network and the provider's base URL, then try again.",
    retryable=True,
)
_OTHER: Final = _Row(ErrorCode.BACKEND_FAILED, "failed", "Try again, or choose another model.")
_EMPTY: Final = _Row(
    ErrorCode.PROVIDER_EMPTY_RESPONSE,
    "gave an empty answer",
    "Try again, check the provider's base URL, or choose another model.",
    retryable=True,
    quotes=False,
)
_OUTPUT_LIMIT: Final = _Row(
    ErrorCode.USAGE_LIMIT_EXCEEDED,
    "reached its output token limit before it had answered",
    "Ask for less at once, lower the thinking level, or choose a model with a larger limit.",
    quotes=False,
)

# Before the status, because one status stands for several of them; the first that is found.
_TELLING: Final[tuple[tuple[str, _Row], ...]] = (
    (r"insufficient_quota|billing_hard_limit|credit.?balance|spend_limit_exceeded|current_quota|usage.limit", _QUOTA),
    (
        r"context_length_exceeded|maximum context length|reduce the length of the messages|prompt is too long"
        r"|input token count|exceeds the context window",
        _CONTEXT,
    ),
    (r"model_not_found", _UNKNOWN),
    (r"invalid_api_key|authentication_error", _AUTHENTICATION),
    (r"content.?filter", _FILTERED),
    (r"overloaded|over capacity", _UNAVAILABLE),
)
_BY_STATUS: Final[Mapping[int, _Row]] = {
    401: _AUTHENTICATION,
    402: _QUOTA,
    403: _AUTHENTICATION,
    404: _UNKNOWN,
    408: _TIMEOUT,
    409: _UNAVAILABLE,
    429: _RATE,
}
# Only without a status: a body may speak of anything.
_VAGUE: Final[tuple[tuple[str, _Row], ...]] = (
    (r"rate.?limit|too many requests|throttl", _RATE),
    (r"timed.?out|timeout", _TIMEOUT),
    (r"connection|\bECONN|\bENOTFOUND|\bEAI_AGAIN|fetch failed|terminated|socket|network", _CONNECTION),
)
_STATUS: Final = re.compile(
    r"\A\s*(?:error:?\s*)?([45]\d\d)\b|\"code\"\s*:\s*\"?([45]\d\d)\b|\bstatus(?:\s*code)?\W{1,3}([45]\d\d)\b", re.I
)


def model_failure(said: str, request: RunRequest, model: str, secrets: Sequence[str]) -> OhmError:
    """A turn of the model that failed, from the `errorMessage` of the assistant's message."""
    row, status = _read(said)
    words = quoted(wording(said), secrets) if row.quotes else ""
    return _told(row, request, model, f" (HTTP {status})" if status else "", words)


def empty_answer(request: RunRequest, model: str) -> OhmError:
    """The model ended its last turn without a word."""
    return _told(_EMPTY, request, model)


def cut_off(request: RunRequest, model: str) -> OhmError:
    """The model used up its tokens before it said a word."""
    return _told(_OUTPUT_LIMIT, request, model)


def refused(said: str, request: RunRequest) -> OhmError | None:
    """A start that `pi` refused before it asked a model, if it is about the model that was asked for."""
    asked = str(request.model) if request.model is not None else ""
    if "No API key found" in said:
        if not asked:
            return OhmError(
                code=ErrorCode.MODEL_MISSING,
                message=f'No model for subagent "{request.profile.id}": none is named, and pi has no key for one.',
                advice='Log in to a provider with pi, or set OHM_MODEL to "<provider>/<model>" and its key.',
            )
        return OhmError(
            code=ErrorCode.MODEL_KEY_MISSING,
            message=f'pi has no key for provider "{asked.partition("/")[0]}" of model "{asked}".',
            advice="Log in to the provider with pi, set its key in the environment, or choose another model.",
        )
    if asked and re.search(r'Model ".*" not found', said):
        return OhmError(
            code=ErrorCode.MODEL_UNKNOWN,
            message=f'pi does not know model "{asked}".',
            advice="See pi --list-models, or add the provider under providers in ohm.json.",
        )
    return None


def broken_off(request: RunRequest, *, code: int, stderr: str, secrets: Sequence[str]) -> OhmError:
    """The process ended before the agent did."""
    ended = f"pi ended {how(code)} before it had answered"
    said = detail(stderr, secrets) or ("subagent backend exited non-zero" if code else ended)
    message = f"Task {request.task_id} backend failed: {said}"
    advice = f"{ended[0].upper()}{ended[1:]}. {_TRY_AGAIN}" if code else ""
    return OhmError(code=ErrorCode.BACKEND_FAILED, message=message, advice=advice, cause=said)


def nothing_asked() -> OhmError:
    """`pi` ended as if all were well, without asking a model."""
    return OhmError(
        code=ErrorCode.PROVIDER_EMPTY_RESPONSE,
        message="pi ended without an answer: it asked no model.",
        advice="Check that the prompt is not blank, and the standard error of pi by running it by hand.",
    )


def interrupted() -> OhmError:
    return OhmError(code=ErrorCode.TASK_ABORTED, message="pi was interrupted.")


def how(code: int) -> str:
    """An exit code in words."""
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def _read(said: str) -> tuple[_Row, int | None]:
    found = _STATUS.search(said)
    status = int(next(filter(None, found.groups()))) if found is not None else None
    for words, row in _TELLING:
        if re.search(words, said, re.IGNORECASE):
            return row, status
    if status is not None:
        return _BY_STATUS.get(status, _UNAVAILABLE if status >= 500 else _REJECTED), status
    for words, row in _VAGUE:
        if re.search(words, said, re.IGNORECASE):
            return row, None
    return _OTHER, None


def _told(row: _Row, request: RunRequest, model: str, status: str = "", words: str = "") -> OhmError:
    asked = model or (str(request.model) if request.model is not None else "")
    who = f'Model "{asked}"' if asked else "The model of pi"
    return OhmError(
        code=row.code,
        message=f"{who} {row.says}{status}{f': {words}' if words else ''}.",
        advice=row.advice,
        retryable=row.retryable,
    )
