"""Errors from what a CLI says of what went wrong."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from ohm_subagents.plugin import ErrorCode, OhmError, Phrase, agent_failure, provider_failure, status_in
from ohm_subagents.redaction import redacted_line, secrets_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.shell import Ended

_OTHER: Final = Phrase(says="failed", advice="Run the command by hand to see more.")


def _any(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(words), re.IGNORECASE)


# What a CLI fails for before a provider is asked; the first whose words are there.
_OWN: Final = (
    (
        _any(
            *("not logged in", "please run /login", "no auth type", "invalid auth method", "no api key"),
            *("key (is )?missing", "missing (api key|environment variable)", r"must specify the \S*key"),
        ),
        ErrorCode.MODEL_KEY_MISSING,
        Phrase(
            says="is not logged in and has no key",
            advice="Log in with it once, or set the key of its provider in the environment.",
        ),
    ),
    (
        _any("trusted (directory|folder)"),
        ErrorCode.BACKEND_FAILED,
        Phrase(
            says="does not run in a folder that it has not been told to trust",
            advice="Trust the folder with it once; only that makes it read the settings that are in the folder.",
        ),
    ),
    (
        _any("no (conversation|saved session|rollout) found", "session not found", "invalid session id"),
        ErrorCode.BACKEND_FAILED,
        Phrase(
            says="no longer has the session that was to be continued",
            advice="Start a new task; sessions are kept by the command itself, for one user and one folder.",
        ),
    ),
)


def failure(cli: str, said: str, *, status: int | None, env: Mapping[str, str]) -> OhmError:
    """Return the error of a run of which `cli` said that it has failed.

    `status` is the HTTP status of the provider, where it is known; otherwise it is looked for in the words. Values of
    `env` that are secrets, and what looks like a key, are cut out of them.
    """
    status = status or status_in(said)
    return _known(cli, said, status, env) or provider_failure(
        ErrorCode.BACKEND_FAILED, cli, status=status, quote=_quoted(said, env), phrase=_OTHER
    )


def cut_short(cli: str, ended: Ended, hint: str, *, env: Mapping[str, str]) -> OhmError:
    """Return the error of a process that ended before it said that the run had: by its last words, and how it ended."""
    words = hint or ended.last_words(_is_known)
    return _known(cli, words, status_in(words), env) or _ended_badly(
        cli, f"it {ended.how} before it had answered", words, env
    )


def left_badly(cli: str, ended: Ended, *, env: Mapping[str, str]) -> OhmError:
    """Return the error of a process that said that it has answered, and then ended as one that has failed."""
    return _ended_badly(cli, f"it answered, but then {ended.how}", ended.last_words(_is_known), env)


def empty(cli: str) -> OhmError:
    """Return the error of a run that ended well and without a word."""
    return provider_failure(ErrorCode.PROVIDER_EMPTY_RESPONSE, cli)


def _known(cli: str, said: str, status: int | None, env: Mapping[str, str]) -> OhmError | None:
    """Return the error if the words or the status say what it is."""
    for words, code, phrase in _OWN:
        if words.search(said):
            return provider_failure(code, cli, status=status, quote=_quoted(said, env), phrase=phrase)
    return agent_failure(cli, said, status=status, quote=_quoted(said, env))


def _is_known(line: str) -> bool:
    return _known("", line, status_in(line), {}) is not None


def _ended_badly(cli: str, how: str, said: str, env: Mapping[str, str]) -> OhmError:
    quote = _quoted(said, env)
    detail = f"{how}: {quote}" if quote else how
    return provider_failure(ErrorCode.BACKEND_FAILED, cli, quote=detail, phrase=_OTHER)


def _quoted(said: str, env: Mapping[str, str]) -> str:
    return redacted_line(_message(said), secrets_of(env))


def _message(said: str) -> str:
    """Return the message in an error that is JSON, as providers write it and CLIs pass it on."""
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
