"""The answer to the first request of a client, made before the MCP library and the engine are imported.

Clients give a server little time to answer, and the imports take longer. The same answers come from the library to
whatever is asked later; a test compares them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from ohm_subagents.mcp.options import INSTRUCTIONS, NAME, TASKS_EXTENSION

if TYPE_CHECKING:
    from pydantic import JsonValue

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions of the protocol that begin with `initialize`, the newest last."""
MODERN_VERSIONS: Final = ("2026-07-28",)
"""Versions in which each request says its version, the newest last."""
_META: Final = "io.modelcontextprotocol/"


class Greeting(NamedTuple):
    """The answer to a first request."""

    request_id: int | str
    line: bytes
    """The answer as it is written, with its line feed."""


def first_answer(line: bytes, *, version: str) -> Greeting | None:
    """Return the answer to a first request, or None for one that needs more than this.

    `version` is that of this server.
    """
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not _is_object(request) or request.get("jsonrpc") != "2.0":
        return None
    request_id, params = request.get("id"), request.get("params")
    if isinstance(request_id, bool) or not isinstance(request_id, int | str) or not _is_object(params):
        return None
    server: JsonValue = {"name": NAME, "version": version}
    tools: JsonValue = {"listChanged": False}
    result: JsonValue
    if request.get("method") == "initialize" and _begins(params):
        asked = params["protocolVersion"]
        result = {
            "protocolVersion": asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "capabilities": {"tools": tools},
            "serverInfo": server,
            "instructions": INSTRUCTIONS,
        }
    elif request.get("method") == "server/discover" and _discovers(params):
        result = {
            "resultType": "complete",
            "supportedVersions": [*MODERN_VERSIONS],
            "capabilities": {"extensions": {TASKS_EXTENSION: {}}, "tools": tools},
            "instructions": INSTRUCTIONS,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {f"{_META}serverInfo": server},
        }
    else:
        return None
    answer = {"jsonrpc": "2.0", "id": request_id, "result": result}
    return Greeting(request_id, json.dumps(answer, separators=(",", ":")).encode() + b"\n")


def _is_object(value: object) -> TypeGuard[dict[str, JsonValue]]:
    return isinstance(value, dict)


def _begins(params: dict[str, JsonValue]) -> bool:
    client = params.get("clientInfo")
    return (
        params.keys() <= {"protocolVersion", "capabilities", "clientInfo", "_meta"}
        and isinstance(params.get("protocolVersion"), str)
        and _is_object(params.get("capabilities"))
        and _is_object(client)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
    )


def _discovers(params: dict[str, JsonValue]) -> bool:
    meta = params.get("_meta")
    return (
        params.keys() == {"_meta"}
        and _is_object(meta)
        and meta.get(f"{_META}protocolVersion") in MODERN_VERSIONS
        and _is_object(meta.get(f"{_META}clientCapabilities"))
    )
