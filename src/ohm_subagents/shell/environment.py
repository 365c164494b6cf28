"""The environment of a child process: an allowlist, the keys that it needs, its nesting depth, and its trace."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.env import (
    CEILING_VARIABLE,
    CHILD_VARIABLE,
    CLONE_VARIABLE,
    DEPTH_VARIABLE,
    DIRECTORY_VARIABLES,
    TASK_VARIABLE,
    TRACE_VARIABLES,
)
from ohm_subagents.contract.tool_ceiling import delegation_to_json
from ohm_subagents.shell.orphans import MARKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ohm_subagents._plugins.backends.request import RunRequest

ALLOWED: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
        # An ohm inside of the run has the same rules to keep.
        *("OHM_MODEL", *DIRECTORY_VARIABLES),
        # A run inside of a run is found by the sweep of both.
        MARKER,
        CLONE_VARIABLE,
        *("NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    }
)
"""The variables that every command gets: places, language, network. No key is among them."""

_FAMILIES: Final = ("LC_", "OHM_SUBAGENTS_")


def child_environment(
    request: RunRequest, *, keys: Iterable[str] = (), extra: Mapping[str, str | None] | None = None
) -> dict[str, str]:
    """Return the environment of a child of this run.

    `keys` and the names in the profile's `env` list are passed on as far as they are set. Above them stand the
    variables of an agent profile. `extra` has the last word; None there passes on our own value.
    """
    ours = request.env
    extra = extra or {}
    wanted = (*keys, *request.profile.env, *(name for name, value in extra.items() if value is None))
    passed = passed_environment(ours, wanted)
    given = {name: value for name, value in extra.items() if value is not None}
    agent = request.profile.agent
    variables = dict(agent.variables if agent else ())
    place = {CHILD_VARIABLE: "1", DEPTH_VARIABLE: f"{request.depth}", TASK_VARIABLE: request.task_id}
    passes = request.passes
    if passes is not None and passes.is_limited:
        place[CEILING_VARIABLE] = delegation_to_json(passes)
    return {**passed, **trace_environment(ours), **place, **variables, **given}


def passed_environment(env: Mapping[str, str], names: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables of `env` that every child process gets, and those of these names; no key is among them."""
    wanted = {*ALLOWED, *names}
    return {name: value for name, value in env.items() if name in wanted or name.startswith(_FAMILIES)}


def trace_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that put a child process into the current span; outside of any, into that of `env`."""
    if "opentelemetry.sdk" in sys.modules:
        from opentelemetry import propagate  # noqa: PLC0415  a host that traces has imported it

        carried: dict[str, str] = {}
        propagate.inject(carried)
        ours = {name.upper(): value for name, value in carried.items()}
        if TRACE_VARIABLES[0] in ours:
            return {name: ours[name] for name in TRACE_VARIABLES if name in ours}
    return {name: env[name] for name in TRACE_VARIABLES if name in env}
