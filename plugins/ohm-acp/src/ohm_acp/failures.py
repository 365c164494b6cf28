"""Errors from what an agent says of what went wrong, and from how its process ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ohm_subagents.plugin import (
    FINALIZE,
    ErrorCode,
    OhmError,
    Phrase,
    agent_failure,
    provider_failure,
    status_in,
)
from ohm_subagents.redaction import redacted_line, secrets_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ohm_subagents.shell import Ended

_AUTH_REQUIRED: Final = -32000
"""The code of the protocol for an agent that nobody has logged in to."""
_OTHER: Final = Phrase(says="failed", advice="Run the agent by hand, or look at its own log, to see more.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An agent's error in answer to a request."""

    code: int
    """The code of JSON-RPC, or of the protocol."""
    message: str
    """The agent's words."""
    data: object = None
    """More of it, in a shape of the agent's own."""

    @property
    def is_for_login(self) -> bool:
        """Return True if somebody has to log in first."""
        return self.code == _AUTH_REQUIRED

    @property
    def text(self) -> str:
        """Return what it says, with the details that it gives."""
        match self.data:
            case {"details": str(more)} | {"message": str(more)} | {"error": {"message": str(more)}} | str(more):
                return f"{self.message}: {more}" if more not in self.message else self.message
            case _:
                return self.message


class Gone:
    """The end of the agent's output in place of an answer."""

    is_for_login = False


def refused(who: str, refusal: Refusal, env: Mapping[str, str]) -> OhmError:
    """Return the error of a request that the agent refused."""
    said, status = refusal.text, status_in(refusal.text)
    quote = _quoted(said, env)
    return agent_failure(who, said, status=status, quote=quote) or provider_failure(
        ErrorCode.BACKEND_FAILED, who, status=status, quote=quote, phrase=_OTHER
    )


def not_logged_in(who: str, methods: Iterable[str], setting: str) -> OhmError:
    """Return the error of an agent that wants a login first."""
    known = ", ".join(methods)
    way = f", or name one of its ways to log in ({known}) in {setting}" if known else ""
    return OhmError(
        code=ErrorCode.MODEL_KEY_MISSING,
        message=f"{who} is not logged in and has no key.",
        advice=f"Log in with the agent itself once, set the key of its provider in the environment{way}.",
    )


def ended_early(who: str, ended: Ended, env: Mapping[str, str]) -> OhmError:
    """Return the error of an agent whose output ended before it had answered."""
    how = "closed its output" if ended.was_stopped else ended.how
    words = ended.last_words()
    detail = f"it {how} before it had answered" + (f": {_quoted(words, env)}" if words else "")
    error = provider_failure(ErrorCode.BACKEND_FAILED, who, quote=detail, phrase=_OTHER)
    return replace(error, exit_code=None if ended.was_stopped else ended.code)


def other_version(who: str, version: object, ours: int) -> OhmError:
    """Return the error of an agent of another protocol."""
    return OhmError(
        code=ErrorCode.BACKEND_FAILED,
        message=f"{who} speaks version {version!r:.40} of the Agent Client Protocol, and this backend version {ours}.",
        advice="Update ohm-acp, or use a release of the agent that speaks this version.",
    )


def unreadable(who: str, method: str) -> OhmError:
    """Return the error of an answer that is not one of the protocol."""
    return OhmError(
        code=ErrorCode.BACKEND_FAILED,
        message=f"{who} failed: its answer to {method} is none of the Agent Client Protocol.",
        advice="Check that the command starts an ACP agent: some need a flag for it, such as --acp.",
    )


def unbounded(who: str, agent_setting: str, known: Sequence[str]) -> OhmError:
    """Return the error of a profile with a list of tools, for an agent that may use others."""
    return OhmError(
        code=ErrorCode.TOOLS_UNSUPPORTED,
        message=f"{who} cannot be kept to the tools that the profile allows: this agent has tools of its own.",
        advice=f"Use another backend or a profile that limits no tools, or, if the command starts "
        f"{' or '.join(known)}, say so in {agent_setting}.",
    )


def unasked(who: str, known: Sequence[str], agent_setting: str) -> OhmError:
    """Return the error of a profile with rules for calls, for an agent that does not ask before each."""
    return OhmError(
        code=ErrorCode.TOOLS_UNSUPPORTED,
        message=f"{who} cannot keep the rules of the profile: this agent does not ask before each call of a tool.",
        advice=f"Run the profile on another backend, or, if the command starts {' or '.join(known)}, "
        f"say so in {agent_setting}.",
    )


def without_server(who: str, tools: Sequence[str]) -> OhmError:
    """Return the error of tools that an agent cannot be given."""
    code = ErrorCode.FINALIZE_UNSUPPORTED if FINALIZE in tools else ErrorCode.TOOLS_UNSUPPORTED
    return OhmError(
        code=code,
        message=f"{who} takes no MCP server over HTTP, so it cannot be given {', '.join(tools)}.",
        advice="Use a release of the agent that does, or another backend.",
    )


def stopped(who: str, reason: str) -> OhmError:
    """Return the error of a prompt that ended for another reason than an answer."""
    match reason:
        case "max_tokens":
            return provider_failure(ErrorCode.USAGE_LIMIT_EXCEEDED, f"{who}: the model")
        case "max_turn_requests":
            phrase = Phrase(
                says="reached its limit of requests before it had answered",
                advice="Give a smaller task, or raise the limit in the agent's own settings.",
            )
            return provider_failure(ErrorCode.USAGE_LIMIT_EXCEEDED, who, phrase=phrase)
        case "refusal":
            phrase = Phrase(says="refused to answer", advice="Rephrase the prompt, or choose another model.")
            return provider_failure(ErrorCode.CONTENT_FILTERED, f"{who}: the model", phrase=phrase)
        case "cancelled":
            detail = "it stopped by itself before it had answered"
        case _:
            detail = f'it stopped for the reason "{reason:.40}", which this backend does not know'
    return provider_failure(ErrorCode.BACKEND_FAILED, who, quote=detail, phrase=_OTHER)


def _quoted(said: str, env: Mapping[str, str]) -> str:
    return redacted_line(said, secrets_of(env))
