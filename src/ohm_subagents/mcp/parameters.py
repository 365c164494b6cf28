"""Parameters of a client that count for nothing: told in the result, or refused if they restrain a subagent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import InitializeRequestParams
from mcp_types.jsonrpc import INVALID_PARAMS
from pydantic import BaseModel

from ohm_subagents.contract.restraints import REFUSED, is_restraint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server import Server
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

IGNORED: Final = "ohm/ignored"
"""The key of `_meta` of a result that lists the parameters that count for nothing."""
_CALL: Final = "tools/call"


class ParameterCheck:
    """A middleware that looks for parameters that the method of a request does not have."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer a request, and name the parameters that count for nothing. A call that one restrains is refused."""
        unknown = self._unknown(ctx.method, ctx.params or {})
        for key in unknown if ctx.method == _CALL else ():
            if is_restraint(key, (ctx.params or {})[key]):
                raise MCPError(code=INVALID_PARAMS, message=f"{_CALL} does not take '{key}'. {REFUSED}")
        result = await call_next(ctx)
        return _telling(result, unknown) if unknown else result

    def _unknown(self, method: str, params: Mapping[str, Any]) -> list[str]:
        entry = self._server.get_request_handler(method)
        shape = InitializeRequestParams if method == "initialize" else None if entry is None else entry.params_type
        if shape is None:
            return []
        known = {name for key, field in shape.model_fields.items() for name in (key, field.alias)}
        return [key for key, value in params.items() if key not in known and key != "_meta" and value is not None]


def _telling(result: HandlerResult, unknown: list[str]) -> HandlerResult:
    if result is None:
        return None
    told: dict[str, Any]
    told = (
        result.model_dump(mode="json", by_alias=True, exclude_unset=True) if isinstance(result, BaseModel) else result
    )
    told = {**told, "_meta": {**(told.get("_meta") or {}), IGNORED: unknown}}
    if isinstance(told.get("content"), list):
        notes = "\n".join(f"note: Ignored unknown parameter '{key}'." for key in unknown)
        told["content"] = [*told["content"], {"type": "text", "text": notes}]
    return told
