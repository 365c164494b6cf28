"""Errors about models and their providers: code → words, so that every backend says the same of the same failure.

A backend finds the code of what happened, by the type of an exception, an HTTP status or the words of a program
(`failure_code`), and `provider_failure` says the rest.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.model_pattern import THINKING_LEVELS
from ohm_subagents.contract.spelling import nearest_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ohm_subagents.contract.model_pattern import ModelPattern, Thinking
    from ohm_subagents.contract.services import CompatibleProvider

_CLOSE: Final = 0.8
"""One wrong, missing or swapped letter in a short name; a lower ratio pairs names that share a few letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """The words for a failure."""

    says: str
    """The fact; it continues `Model "<provider>/<model>" …`."""
    advice: str
    """The advice to the user, in sentences."""
    retryable: bool = False
    """Trying the same again may succeed."""
    quotes: bool = True
    """The message may quote what the provider wrote. False where providers repeat parts of a key."""


_TRY_AGAIN: Final = "Try again later, or choose another model."
PHRASES: Final[Mapping[ErrorCode, Phrase]] = MappingProxyType(
    {
        ErrorCode.PROVIDER_AUTHENTICATION: Phrase(
            says="refused the key", advice="Check the provider's key and that it may use this model.", quotes=False
        ),
        ErrorCode.PROVIDER_QUOTA_EXCEEDED: Phrase(
            says="refused because the quota or credit of the account is used up",
            advice="Add credit at the provider, or choose another provider.",
        ),
        ErrorCode.PROVIDER_RATE_LIMITED: Phrase(says="is rate-limited", advice=_TRY_AGAIN, retryable=True),
        ErrorCode.PROVIDER_UNAVAILABLE: Phrase(says="is unavailable or overloaded", advice=_TRY_AGAIN, retryable=True),
        ErrorCode.PROVIDER_TIMEOUT: Phrase(says="did not answer in time", advice=_TRY_AGAIN, retryable=True),
        ErrorCode.PROVIDER_CONNECTION_FAILED: Phrase(
            says="could not be reached, or broke the connection",
            advice="Check the network and the provider's base URL, then try again.",
            retryable=True,
        ),
        ErrorCode.PROVIDER_REQUEST_REJECTED: Phrase(
            says="rejected the request",
            advice="Sending it again will not help; choose another model, or report it with the text above.",
        ),
        ErrorCode.PROVIDER_MALFORMED_RESPONSE: Phrase(
            says="sent an answer that cannot be read",
            advice="Check that the base URL is an API of this kind, then try again.",
            retryable=True,
            quotes=False,
        ),
        ErrorCode.PROVIDER_EMPTY_RESPONSE: Phrase(
            says="gave an empty answer",
            advice="Try again, check the provider's base URL, or choose another model.",
            retryable=True,
            quotes=False,
        ),
        ErrorCode.MODEL_UNKNOWN: Phrase(
            says="is not known to its provider", advice="Check the model's name, and the provider's base URL."
        ),
        ErrorCode.CONTEXT_WINDOW_EXCEEDED: Phrase(
            says="cannot take this much text: the conversation exceeds its context window",
            advice="Start a new session, narrow the task, or choose a model with a larger window.",
        ),
        ErrorCode.CONTENT_FILTERED: Phrase(
            says="did not answer because its provider's content filter stopped it",
            advice="Rephrase the prompt, or choose another model.",
            quotes=False,
        ),
        ErrorCode.USAGE_LIMIT_EXCEEDED: Phrase(
            says="reached its output token limit before it had answered",
            advice="Ask for less at once, lower the thinking level, or choose a model with a larger limit.",
            quotes=False,
        ),
        ErrorCode.BACKEND_FAILED: Phrase(says="failed", advice="Try again, or choose another model."),
    }
)
"""The words for each code that `provider_failure` takes."""

_AGENTS_KEY: Final = Phrase(says="refused the key", advice="Check the key, or log in again.", quotes=False)


def provider_failure(
    code: ErrorCode, who: str, *, status: int | None = None, quote: str = "", phrase: Phrase | None = None
) -> OhmError:
    """Return the error of a failed model request.

    `who` begins the message: `Model "<provider>/<model>"`. `status` is the HTTP status, if there was one. `quote` is
    what the provider wrote, from `redacted_line`; it is left out where that might hold a key. `phrase` replaces the
    common words for a case that deserves others.
    """
    phrase = phrase or PHRASES[code]
    where = f" (HTTP {status})" if status else ""
    said = f": {quote}" if quote and phrase.quotes else ""
    message = f"{who} {phrase.says}{where}{said}."
    return OhmError(code=code, message=message, advice=phrase.advice, retryable=phrase.retryable)


def agent_failure(agent: str, said: str, *, status: int | None = None, quote: str = "") -> OhmError | None:
    """Return the error that another program has had with its model, by its words or a status; None if they tell none.

    `agent` names the program; `quote` is what it has said, without secrets.
    """
    code = failure_code(said, status)
    if code is None:
        return None
    phrase = _AGENTS_KEY if code is ErrorCode.PROVIDER_AUTHENTICATION else None
    return provider_failure(code, f"{agent}: the model", status=status, quote=quote, phrase=phrase)


def _any(*words: str) -> str:
    return "|".join(words)


_STATUS: Final = _any(
    r"\A\s*(?:error:?\s*)?([45]\d\d)\b",
    r"(?:\bAPI Error:?|\bHTTP(?:/[\d.]+)?|\"?(?:code|status(?:\s*code)?)\"?\W{1,3})\s*\"?([45]\d\d)\b",
)
_BY_STATUS: Final[Mapping[int, ErrorCode]] = {
    401: ErrorCode.PROVIDER_AUTHENTICATION,
    402: ErrorCode.PROVIDER_QUOTA_EXCEEDED,
    403: ErrorCode.PROVIDER_AUTHENTICATION,
    404: ErrorCode.MODEL_UNKNOWN,
    408: ErrorCode.PROVIDER_TIMEOUT,
    409: ErrorCode.PROVIDER_UNAVAILABLE,
    429: ErrorCode.PROVIDER_RATE_LIMITED,
    504: ErrorCode.PROVIDER_TIMEOUT,
}
# Before the status, because one status stands for several of them; the first that is found.
_TELLING: Final = (
    (
        _any(
            *("insufficient_quota", "billing", "credit.?balance", "spend_limit_exceeded", "current.quota"),
            "usage.limit",
        ),
        ErrorCode.PROVIDER_QUOTA_EXCEEDED,
    ),
    (
        _any(
            *("context.?(window|length)", "maximum context", "reduce the length of the messages"),
            *("prompt is too long", "input token count"),
        ),
        ErrorCode.CONTEXT_WINDOW_EXCEEDED,
    ),
    (_any("model_not_found"), ErrorCode.MODEL_UNKNOWN),
    (_any("invalid_api_key", "authentication_error"), ErrorCode.PROVIDER_AUTHENTICATION),
    (_any("content.?filter"), ErrorCode.CONTENT_FILTERED),
    (_any("overloaded", "over capacity"), ErrorCode.PROVIDER_UNAVAILABLE),
)
# Only without a status: a body may speak of anything.
_VAGUE: Final = (
    (
        _any("unauthori[sz]ed", "authentication", "invalid (x-)?(api.?)?key", "permission.?denied"),
        ErrorCode.PROVIDER_AUTHENTICATION,
    ),
    (_any("rate.?limit", "too many requests", "throttl", "resource.?exhausted"), ErrorCode.PROVIDER_RATE_LIMITED),
    (_any("unavailable", "internal server error", "bad gateway"), ErrorCode.PROVIDER_UNAVAILABLE),
    (_any("timed.?out", "timeout", "deadline exceeded"), ErrorCode.PROVIDER_TIMEOUT),
    (
        _any(
            *(r"\becon", r"\benotfound", r"\beai_again", "getaddrinfo", "fetch failed", "disconnected"),
            r"connection (error|refused|reset|closed)",
        ),
        ErrorCode.PROVIDER_CONNECTION_FAILED,
    ),
    (
        _any(r"model\b.{0,80}\bnot (found|exist|supported)", "unknown model", "ProviderModelNotFound"),
        ErrorCode.MODEL_UNKNOWN,
    ),
    (_any("empty response"), ErrorCode.PROVIDER_EMPTY_RESPONSE),
    (_any("invalid.?request", "bad request"), ErrorCode.PROVIDER_REQUEST_REJECTED),
)


def failure_code(said: str, status: int | None = None) -> ErrorCode | None:
    """Return the code of a failure by the words of a provider or of a program, and its HTTP status, if one is known.

    None if neither says what it is.
    """
    status = status or status_in(said)
    for words, code in _TELLING:
        if _are_in(words, said):
            return code
    if status is not None:
        other = ErrorCode.PROVIDER_UNAVAILABLE if status >= 500 else ErrorCode.PROVIDER_REQUEST_REJECTED
        return _BY_STATUS.get(status, other)
    return next((code for words, code in _VAGUE if _are_in(words, said)), None)


def _are_in(words: str, said: str) -> bool:
    return re.search(words, said, re.IGNORECASE) is not None  # compiled when the first failure needs it


def status_in(said: str) -> int | None:
    """Return the HTTP status of a failure that a text names, such as `429 …` or `status code: 429`."""
    found = re.search(_STATUS, said, re.IGNORECASE)
    return None if found is None else int(next(filter(None, found.groups())))


def unknown_model(provider: CompatibleProvider, pattern: ModelPattern) -> OhmError:
    """Return the error of a model that is not among those that are listed."""
    names = sorted(model.id for model in provider.models)
    name, _, level = pattern.model.rpartition(":")
    if name in names:
        return unknown_thinking_level(pattern, name, level)
    hint = did_you_mean(pattern.model, names, provider=pattern.provider)
    return OhmError(
        code=ErrorCode.MODEL_UNKNOWN,
        message=f'Unknown model "{pattern.model}" of provider "{pattern.provider}".',
        advice=f"{hint}Available models: {', '.join(names)}. They are listed under "
        f"providers.{provider.name}.models in {provider.source}.",
    )


def unknown_thinking_level(pattern: ModelPattern, name: str, level: str) -> OhmError:
    """Return the error of a known model with something behind its name that is no thinking level."""
    return OhmError(
        code=ErrorCode.MODEL_UNKNOWN,
        message=f'"{level}" in "{pattern}" is no thinking level.',
        advice=f"The levels are {', '.join(THINKING_LEVELS)}: write {pattern.provider}/{name}:<level>, or no level.",
    )


def did_you_mean(written: str, known: Iterable[str], *, provider: str = "", model: str = "") -> str:
    """Return `Did you mean "<provider>/<model>"? `, with the known name closest to `written`; else ""."""
    name = nearest_name(written, known, likeness=_CLOSE)
    return "" if name is None else f'Did you mean "{provider or name}/{model or name}"? '


def missing_key(pattern: ModelPattern, keys: Sequence[str]) -> OhmError:
    """Return the error of a model for which none of the variables `keys` is set."""
    return OhmError(
        code=ErrorCode.MODEL_KEY_MISSING,
        message=f'No key for provider "{pattern.provider}" of model "{pattern}": '
        f"{' or '.join(keys)} is not in the environment.",
        advice=f"Set {keys[0]}, or choose a model of another provider.",
    )


def without_thinking(level: Thinking) -> str:
    """Return what to say of a model that does not think; continues `Model "<provider>/<model>" …`."""
    return f'takes no thinking setting, so "{level}" has no effect'
