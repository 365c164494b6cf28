"""Errors from the exceptions of pydantic-ai and of models. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from pydantic_ai import exceptions as upstream

from ohm_subagents.backends.in_process.bounded_stream import RefusedStreamError
from ohm_subagents.backends.in_process.bridge import said_nothing
from ohm_subagents.backends.in_process.providers import EXAMPLE_MODEL
from ohm_subagents.backends.in_process.search.plan import SEARCH
from ohm_subagents.backends.in_process.search.stream import NoSearchError
from ohm_subagents.plugin import ErrorCode, ModelPattern, OhmError, Phrase, failure_code, provider_failure
from ohm_subagents.redaction import redacted_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai.messages import ModelResponse


# By type, the first that matches: a subclass stands before its parent.
_KINDS: Final[tuple[tuple[type[Exception], ErrorCode], ...]] = (
    (upstream.ContentFilterError, ErrorCode.CONTENT_FILTERED),
    # The parent of this error, for any answer that was cut off, is not in the oldest pydantic-ai that we run on.
    (getattr(upstream, "OutputTokenLimitExceeded", upstream.IncompleteToolCall), ErrorCode.USAGE_LIMIT_EXCEEDED),
    (upstream.ModelAuthenticationError, ErrorCode.PROVIDER_AUTHENTICATION),
    (upstream.ModelQuotaExceededError, ErrorCode.PROVIDER_QUOTA_EXCEEDED),
    (upstream.ModelRateLimitError, ErrorCode.PROVIDER_RATE_LIMITED),
    (upstream.ModelContextWindowExceededError, ErrorCode.CONTEXT_WINDOW_EXCEEDED),
    (upstream.ModelNotFoundError, ErrorCode.MODEL_UNKNOWN),
    (upstream.ModelRequestRejectedError, ErrorCode.PROVIDER_REQUEST_REJECTED),
    (upstream.ModelUnavailableError, ErrorCode.PROVIDER_UNAVAILABLE),
    (upstream.ModelServerError, ErrorCode.PROVIDER_UNAVAILABLE),
    (upstream.ModelRequestTimeout, ErrorCode.PROVIDER_TIMEOUT),
    (upstream.ModelConnectionError, ErrorCode.PROVIDER_CONNECTION_FAILED),
)
_OWN_STATUS: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}
"""Failures that a status tells better than the type does."""
_WORDLESS: Final = (upstream.ModelConnectionError, upstream.ModelRequestTimeout)
"""Failures that only a library of this machine has words for."""
_REQUEST_LIMIT: Final = Phrase(
    says="was stopped by the request limit of this backend",
    advice='Raise subagents.backends."interactive-sdk".requestLimit in ohm.json, or give a smaller task.',
    quotes=False,
)
_READ_TIMEOUT: Final = Phrase(
    says="sent nothing for too long",
    advice='Try again, or raise subagents.backends."interactive-sdk".readTimeoutMs in ohm.json.',
    retryable=True,
    quotes=False,
)
_BROKE_OFF: Final = Phrase(
    says="ended its stream before the answer was complete",
    advice="Try again; if it happens every time, the service does not follow the OpenAI protocol.",
    retryable=True,
    quotes=False,
)
_UNUSABLE: Final = Phrase(
    says="answered in a way that cannot be used",
    advice="Choose a model that is good at calling tools, or reword the task.",
)
_TOO_MUCH: Final = Phrase(
    says="sent too much",
    advice="Ask for less at once, or check that the provider's base URL is an API of this kind.",
    quotes=False,
)
_NO_STREAM: Final = Phrase(
    says="sent a reply without an answer in it, as a web page or a proxy in place of the API does",
    advice="Check the provider's base URL, then try again.",
    retryable=True,
    quotes=False,
)
_MISUSED: Final = Phrase(
    says="could not be run",
    advice="Check the model's settings and the tools of this subagent; if they are right, report the text above.",
)
_NO_SEARCH: Final = Phrase(
    says="could not search",
    advice=f"Allow this subagent the tool {SEARCH} and a directory that it can read; or set OHM_MODEL, or "
    f"subagents.model in ohm.json, to a language model such as {EXAMPLE_MODEL}.",
)


def failure(
    error: Exception, pattern: ModelPattern, *, response: ModelResponse | None, secrets: Sequence[str]
) -> OhmError:
    """Return the error of a run on `pattern` that `error` ended, after the model had last sent `response`.

    `secrets` are cut out of what the provider wrote.
    """
    error = telling(error)
    code, phrase = _case(error, response)
    return provider_failure(
        code,
        _who(pattern),
        status=error.status_code if isinstance(error, upstream.ModelHTTPError) else None,
        quote="" if isinstance(error, _WORDLESS) else quotation(error, secrets),
        phrase=phrase,
    )


def telling(error: Exception) -> Exception:
    """Return the one error of a group that says what went wrong: the last of a fallback, or the only one there is."""
    match error:
        case upstream.FallbackExceptionGroup(exceptions=errors):
            return telling(errors[-1])
        case ExceptionGroup(exceptions=[only]):
            return telling(only)
        case _:
            return _refused_stream(error) or error


def _refused_stream(error: BaseException) -> RefusedStreamError | None:
    """Return the reason behind an error of an SDK, which takes whatever breaks a stream for a lost connection."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, RefusedStreamError):
        cause = cause.__cause__ or cause.__context__
    return cause


def empty_answer(pattern: ModelPattern) -> OhmError:
    """The model ended its last turn without a word."""
    return provider_failure(ErrorCode.PROVIDER_EMPTY_RESPONSE, _who(pattern))


def _who(pattern: ModelPattern) -> str:
    return f'Model "{pattern.provider}/{pattern.model}"'


def _case(error: Exception, response: ModelResponse | None) -> tuple[ErrorCode, Phrase | None]:
    """Return the code, and its own words if the case deserves them."""
    match error:
        case RefusedStreamError():
            return ErrorCode.PROVIDER_MALFORMED_RESPONSE, replace(_TOO_MUCH, says=str(error))
        case upstream.UsageLimitExceeded():
            return ErrorCode.USAGE_LIMIT_EXCEEDED, _REQUEST_LIMIT
        case upstream.ModelTimeoutError():
            return ErrorCode.PROVIDER_TIMEOUT, _READ_TIMEOUT
        case upstream.ModelHTTPError(status_code=status) if status in _OWN_STATUS:
            return failure_code("", status) or ErrorCode.PROVIDER_UNAVAILABLE, None
        case _:
            code = next((code for kind, code in _KINDS if isinstance(error, kind)), None)
            return _other(error, response) if code is None else (code, None)


def _other(error: Exception, response: ModelResponse | None) -> tuple[ErrorCode, Phrase | None]:
    match error:
        case upstream.ModelHTTPError():
            return ErrorCode.PROVIDER_REQUEST_REJECTED, None
        case upstream.ModelAPIError(message=message):
            return ErrorCode.PROVIDER_MALFORMED_RESPONSE, _BROKE_OFF if "finish_reason" in message else None
        case upstream.UnexpectedModelBehavior(message=message):
            return _misbehaviour(message, response)
        case NoSearchError():
            return ErrorCode.BACKEND_FAILED, _NO_SEARCH
        case _:
            return ErrorCode.BACKEND_FAILED, _MISUSED


def _misbehaviour(message: str, response: ModelResponse | None) -> tuple[ErrorCode, Phrase | None]:
    """Upstream says the same of a model that said nothing, of a stream without an event, and of a wrong tool call."""
    if said_nothing(response):
        is_cut = response is not None and response.finish_reason == "length"
        return ErrorCode.USAGE_LIMIT_EXCEEDED if is_cut else ErrorCode.PROVIDER_EMPTY_RESPONSE, None
    if "ended without content" in message:
        return ErrorCode.PROVIDER_EMPTY_RESPONSE, _NO_STREAM
    return ErrorCode.PROVIDER_MALFORMED_RESPONSE, _UNUSABLE


def quotation(error: Exception, secrets: Sequence[str]) -> str:
    """Return what was said, on one line, without keys, capped."""
    match error:
        case upstream.ModelHTTPError(body=body):
            said = _said(body)
        case upstream.UnexpectedModelBehavior(message=message):
            said = message.partition(". ")[0]  # what follows is advice about upstream's own settings
        case upstream.AgentRunError() | upstream.UserError():
            said = str(error).partition("\n")[0]
        case _:
            said = _named(error)
    return redacted_line(said, secrets)


def _named(error: Exception) -> str:
    """Return an error that was not meant to be read, with its type: `KeyError: 'x'` would else be no more than x."""
    match error:
        case ExceptionGroup(exceptions=inner):
            said = "; ".join(_named(one) for one in inner)
        case _:
            said = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _said(body: object) -> str:
    match body:
        case {"error": {"message": str(message)}} | {"message": str(message)} | {"error": str(message)}:
            return message
        case _:
            return ""
