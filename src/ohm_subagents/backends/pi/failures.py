"""Errors from the words that `pi` has for what went wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ohm_subagents.backends.pi.records import wording
from ohm_subagents.plugin import ErrorCode, OhmError, failure_code, provider_failure, status_in
from ohm_subagents.redaction import redacted_line, redacted_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ohm_subagents.plugin import RunRequest


_MAX_UNITS: Final = 260
_TRY_AGAIN: Final = "Try again later, or choose another model."
_BROKEN: Final = re.compile(r"connection|terminated|socket|network", re.IGNORECASE)
"""Of what pi says of a failed request, which is about nothing else."""


def model_failure(said: str, request: RunRequest, model: str, secrets: Sequence[str]) -> OhmError:
    """Return the error of a failed turn of the model, from the `errorMessage` of the assistant's message."""
    status = status_in(said)
    broken = ErrorCode.PROVIDER_CONNECTION_FAILED if _BROKEN.search(said) else ErrorCode.BACKEND_FAILED
    return provider_failure(
        failure_code(said, status) or broken,
        _who(request, model),
        status=status,
        quote=redacted_line(wording(said), secrets),
    )


def empty_answer(request: RunRequest, model: str) -> OhmError:
    """Return the error of a model that ended its last turn without a word."""
    return provider_failure(ErrorCode.PROVIDER_EMPTY_RESPONSE, _who(request, model))


def cut_off(request: RunRequest, model: str) -> OhmError:
    """Return the error of a model that used up its tokens before it said a word."""
    return provider_failure(ErrorCode.USAGE_LIMIT_EXCEEDED, _who(request, model))


def refused(said: str, request: RunRequest) -> OhmError | None:
    """Return a start that `pi` refused before it asked a model, if it is about the model that was asked for."""
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
    """Return an exit code in words."""
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def _who(request: RunRequest, model: str) -> str:
    asked = model or (str(request.model) if request.model is not None else "")
    return f'Model "{asked}"' if asked else "The model of pi"


def detail(said: str, secrets: Iterable[str]) -> str:
    """`said`, `redacted`, with its lines, of which 260 UTF-16 units are shown."""
    said = redacted_text(said, secrets).strip()
    units = said.encode("utf-16-le", errors="surrogatepass")
    if len(units) <= 2 * _MAX_UNITS:
        return said
    return f"{units[: 2 * (_MAX_UNITS - 1)].decode('utf-16-le', errors='ignore')}…"
