"""What an error says, fit to be shown: one line, no keys. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai import exceptions as upstream

from ohm_subagents.plugin import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    return quoted(said, secrets)


def _named(error: Exception) -> str:
    """An error that nobody meant to be read, with its type: without it, `KeyError: 'x'` would be no more than x."""
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
