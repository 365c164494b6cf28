"""The answer to `initialize`, made before the ACP library and the engine are imported: an editor waits for it."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, TypeGuard

if TYPE_CHECKING:
    from pydantic import JsonValue

PROTOCOL_VERSION: Final = 1
"""The newest version of the protocol that is spoken here, which is the answer to any other."""

_KNOWN: Final = frozenset({"protocolVersion", "clientCapabilities", "clientInfo", "_meta"})
"""The parameters of `initialize`."""


def greeting() -> dict[str, JsonValue]:
    """Return the result of `initialize`: the version of the protocol, and the capabilities of the agent."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
        },
        "authMethods": [],
        "agentInfo": {"name": "ohm", "title": "ohm-subagents", "version": version("ohm-subagents")},
    }


def first_answer(line: bytes) -> bytes | None:
    """Return the answer to a first request as a line, or None for one that the ACP library has to judge."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not _is_object(request) or request.get("jsonrpc") != "2.0" or request.get("method") != "initialize":
        return None
    request_id, params = request.get("id"), request.get("params")
    if isinstance(request_id, bool) or not isinstance(request_id, int | str) or not _is_object(params):
        return None
    if not params.keys() <= _KNOWN:
        return None
    asked = params.get("protocolVersion")
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
        return None
    answer = {"jsonrpc": "2.0", "id": request_id, "result": greeting()}
    return json.dumps(answer, separators=(",", ":")).encode() + b"\n"


def _is_object(value: object) -> TypeGuard[dict[str, JsonValue]]:
    return isinstance(value, dict)
