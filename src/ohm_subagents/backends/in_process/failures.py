"""What went wrong with a model, as one of our errors. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from pydantic_ai import exceptions as upstream

from ohm_subagents.backends.in_process.bounded_stream import RefusedStreamError
from ohm_subagents.backends.in_process.bridge import said_nothing
from ohm_subagents.backends.in_process.providers import EXAMPLE_MODEL
from ohm_subagents.backends.in_process.quotation import quotation
from ohm_subagents.backends.in_process.search.plan import SEARCH
from ohm_subagents.backends.in_process.search.stream import NoSearchError
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_ai.messages import ModelResponse

    from ohm_subagents.contract.model_pattern import ModelPattern


@dataclass(frozen=True, slots=True)
class _Row:
    """`says` continues `Model "<provider>/<model>" …`; `quotes` adds what the provider wrote."""

    error: type[Exception]
    code: ErrorCode
    says: str
    advice: str
    retryable: bool = False
    quotes: bool = True


_TRY_AGAIN: Final = "Try again later, or choose another model."

_OUTPUT_LIMIT: Final = _Row(
    # The parent of this error, for any answer that was cut off, is not in the oldest pydantic-ai that we run on.
    getattr(upstream, "OutputTokenLimitExceeded", upstream.IncompleteToolCall),
    ErrorCode.USAGE_LIMIT_EXCEEDED,
    "reached its output token limit before it had answered",
    "Ask for less at once, lower the thinking level, or choose a model with a larger limit.",
    quotes=False,
)
_EMPTY: Final = _Row(
    upstream.UnexpectedModelBehavior,
    ErrorCode.PROVIDER_EMPTY_RESPONSE,
    "gave an empty answer",
    "Try again, check the provider's base URL, or choose another model.",
    retryable=True,
    quotes=False,
)

# The first row whose type matches, so a subclass stands before its parent.
_TABLE: Final[tuple[_Row, ...]] = (
    _Row(
        upstream.UsageLimitExceeded,
        ErrorCode.USAGE_LIMIT_EXCEEDED,
        "was stopped by the request limit of this backend",
        'Raise subagents.backends."interactive-sdk".requestLimit in ohm.json, or give a smaller task.',
        quotes=False,
    ),
    _Row(
        upstream.ContentFilterError,
        ErrorCode.CONTENT_FILTERED,
        "did not answer because its provider's content filter stopped it",
        "Rephrase the prompt, or choose another model.",
        quotes=False,
    ),
    _OUTPUT_LIMIT,
    _Row(
        upstream.ModelAuthenticationError,
        ErrorCode.PROVIDER_AUTHENTICATION,
        "refused the key",
        "Check the provider's key and that it may use this model.",
        quotes=False,  # providers repeat parts of the key here
    ),
    _Row(
        upstream.ModelQuotaExceededError,
        ErrorCode.PROVIDER_QUOTA_EXCEEDED,
        "refused because the quota or credit of the account is used up",
        "Add credit at the provider, or choose another provider.",
    ),
    _Row(upstream.ModelRateLimitError, ErrorCode.PROVIDER_RATE_LIMITED, "is rate-limited", _TRY_AGAIN, retryable=True),
    _Row(
        upstream.ModelContextWindowExceededError,
        ErrorCode.CONTEXT_WINDOW_EXCEEDED,
        "cannot take this much text: the conversation exceeds its context window",
        "Start a new session, narrow the task, or choose a model with a larger window.",
    ),
    _Row(
        upstream.ModelNotFoundError,
        ErrorCode.MODEL_UNKNOWN,
        "is not known to its provider",
        "Check the model's name, and the provider's base URL.",
    ),
    _Row(
        upstream.ModelRequestRejectedError,
        ErrorCode.PROVIDER_REQUEST_REJECTED,
        "rejected the request",
        "Sending it again will not help; choose another model, or report it with the text above.",
    ),
    _Row(
        upstream.ModelUnavailableError,
        ErrorCode.PROVIDER_UNAVAILABLE,
        "is unavailable or overloaded",
        _TRY_AGAIN,
        retryable=True,
    ),
    _Row(
        upstream.ModelServerError,
        ErrorCode.PROVIDER_UNAVAILABLE,
        "failed inside its provider",
        _TRY_AGAIN,
        retryable=True,
    ),
    _Row(
        upstream.ModelTimeoutError,
        ErrorCode.PROVIDER_TIMEOUT,
        "sent nothing for too long",
        'Try again, or raise subagents.backends."interactive-sdk".readTimeoutMs in ohm.json.',
        retryable=True,
        quotes=False,
    ),
    _Row(
        upstream.ModelRequestTimeout,
        ErrorCode.PROVIDER_TIMEOUT,
        "did not answer in time",
        _TRY_AGAIN,
        retryable=True,
        quotes=False,
    ),
    _Row(
        upstream.ModelConnectionError,
        ErrorCode.PROVIDER_CONNECTION_FAILED,
        "could not be reached, or broke the connection",
        "Check the network and the provider's base URL, then try again.",
        retryable=True,
        quotes=False,
    ),
)

_BY_STATUS: Final[Mapping[int, _Row]] = {
    HTTPStatus.REQUEST_TIMEOUT: _Row(
        upstream.ModelHTTPError, ErrorCode.PROVIDER_TIMEOUT, "did not answer in time", _TRY_AGAIN, retryable=True
    ),
    HTTPStatus.CONFLICT: _Row(
        upstream.ModelHTTPError,
        ErrorCode.PROVIDER_UNAVAILABLE,
        "could not take the request right now",
        _TRY_AGAIN,
        retryable=True,
    ),
}
_OTHER_STATUS: Final = _Row(
    upstream.ModelHTTPError, ErrorCode.PROVIDER_REQUEST_REJECTED, "rejected the request", _TRY_AGAIN
)
_MALFORMED: Final = _Row(
    upstream.ModelAPIError,
    ErrorCode.PROVIDER_MALFORMED_RESPONSE,
    "sent an answer that cannot be read",
    "Check that the base URL is an API of this kind, then try again.",
    retryable=True,
    quotes=False,
)
_BROKE_OFF: Final = _Row(
    upstream.ModelAPIError,
    ErrorCode.PROVIDER_MALFORMED_RESPONSE,
    "ended its stream before the answer was complete",
    "Try again; if it happens every time, the service does not follow the OpenAI protocol.",
    retryable=True,
    quotes=False,
)
_MISBEHAVED: Final = _Row(
    upstream.UnexpectedModelBehavior,
    ErrorCode.PROVIDER_MALFORMED_RESPONSE,
    "answered in a way that cannot be used",
    "Choose a model that is good at calling tools, or reword the task.",
)
_REFUSED_STREAM: Final = _Row(
    RefusedStreamError,
    ErrorCode.PROVIDER_MALFORMED_RESPONSE,
    "sent too much",
    "Ask for less at once, or check that the provider's base URL is an API of this kind.",
    quotes=False,
)
_NO_STREAM: Final = _Row(
    upstream.UnexpectedModelBehavior,
    ErrorCode.PROVIDER_EMPTY_RESPONSE,
    "sent a reply without an answer in it, as a web page or a proxy in place of the API does",
    "Check the provider's base URL, then try again.",
    retryable=True,
    quotes=False,
)
_MISUSED: Final = _Row(
    Exception,
    ErrorCode.BACKEND_FAILED,
    "could not be run",
    "Check the model's settings and the tools of this subagent; if they are right, report the text above.",
)
_NO_SEARCH: Final = _Row(
    NoSearchError,
    ErrorCode.BACKEND_FAILED,
    "could not search",
    f"Allow this subagent the tool {SEARCH} and a directory that it can read; or set OHM_MODEL, or subagents.model in "
    f"ohm.json, to a language model such as {EXAMPLE_MODEL}.",
)


def failure(
    error: Exception, pattern: ModelPattern, *, response: ModelResponse | None, secrets: Sequence[str]
) -> OhmError:
    """The error of a run on `pattern` that `error` ended, after the model had last sent `response`.

    `secrets` are cut out of what the provider wrote.
    """
    error = telling(error)
    if isinstance(error, RefusedStreamError):
        return _told(replace(_REFUSED_STREAM, says=str(error)), pattern)
    row = _row(error, response)
    status = f" (HTTP {error.status_code})" if isinstance(error, upstream.ModelHTTPError) else ""
    return _told(row, pattern, f"{status}{quotation(error, secrets) if row.quotes else ''}")


def telling(error: Exception) -> Exception:
    """The one error of a group that says what went wrong: the last of a fallback, or the only one there is."""
    match error:
        case upstream.FallbackExceptionGroup(exceptions=errors):
            return telling(errors[-1])
        case ExceptionGroup(exceptions=[only]):
            return telling(only)
        case _:
            return _refused_stream(error) or error


def _refused_stream(error: BaseException) -> RefusedStreamError | None:
    """The reason behind an error of an SDK, which takes whatever breaks a stream for a lost connection."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, RefusedStreamError):
        cause = cause.__cause__ or cause.__context__
    return cause


def empty_answer(pattern: ModelPattern) -> OhmError:
    """The model ended its last turn without a word."""
    return _told(_EMPTY, pattern)


def _told(row: _Row, pattern: ModelPattern, detail: str = "") -> OhmError:
    return OhmError(
        code=row.code,
        message=f'Model "{pattern.provider}/{pattern.model}" {row.says}{detail}.',
        advice=row.advice,
        retryable=row.retryable,
    )


def _row(error: Exception, response: ModelResponse | None) -> _Row:
    match error:
        case upstream.ModelHTTPError(status_code=status) if status in _BY_STATUS:
            return _BY_STATUS[status]
        case _:
            pass
    for row in _TABLE:
        if isinstance(error, row.error):
            return row
    match error:
        case upstream.ModelHTTPError():
            return _OTHER_STATUS
        case upstream.ModelAPIError():
            return _BROKE_OFF if "finish_reason" in error.message else _MALFORMED
        case upstream.UnexpectedModelBehavior(message=message):
            return _misbehaviour(message, response)
        case NoSearchError():
            return _NO_SEARCH
        case _:
            return _MISUSED


def _misbehaviour(message: str, response: ModelResponse | None) -> _Row:
    """Upstream says the same of a model that said nothing, of a stream without an event, and of a wrong tool call."""
    if said_nothing(response):
        return _OUTPUT_LIMIT if response is not None and response.finish_reason == "length" else _EMPTY
    return _NO_STREAM if "ended without content" in message else _MISBEHAVED
