"""Subagents that fail, for tests of what becomes of that."""

import anyio.lowlevel

from ohm_subagents.contract import Err, ErrorCode, OhmError, TextDelta


def failing(*errors, answer="at last"):
    """A subagent whose attempts meet these errors, one after another, and then work."""
    left = list(errors)

    async def act(request, sink):
        await anyio.lowlevel.checkpoint()
        sink.emit(TextDelta(text=f"Attempt {len(errors) - len(left) + 1} of {request.prompt}"))
        return Err(left.pop(0)) if left else answer

    return act


def broken(message="ECONNRESET", **fields):
    return OhmError(code=ErrorCode.BACKEND_FAILED, message=message, **fields)
