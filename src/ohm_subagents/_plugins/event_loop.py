"""The event loop that runs us, for the few places where that matters."""

from __future__ import annotations

from anyio.lowlevel import current_token


def on_asyncio() -> bool:
    """Tell asyncio, with any event loop of its kind, from trio."""
    return "asyncio" in current_token().backend_class.__module__
