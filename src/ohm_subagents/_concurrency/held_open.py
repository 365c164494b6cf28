"""A context manager that any task may open and any other close."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

from ohm_subagents._concurrency.event_loop import begin_alone

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")


class HeldOpen(Generic[T]):
    """Enters a context manager in a task of its own, and leaves it there: the scopes in it must not change tasks.

    If nobody closes it, the event loop ends that task with itself, and so leaves the context.
    """

    def __init__(self, manager: AbstractAsyncContextManager[T]) -> None:
        self._manager = manager
        self._opened = anyio.Event()
        self._closing = anyio.Event()
        self._closed = anyio.Event()
        self._scope = anyio.CancelScope()
        self._held: list[T] = []
        self._raised: BaseException | None = None

    async def open(self) -> T:
        """Enter the context and return what it gives; raises what entering raises. Cancelling this leaves it again."""
        begin_alone(self._hold)
        try:
            await self._opened.wait()
        finally:
            if not self._held:
                self._scope.cancel()
                with anyio.CancelScope(shield=True):
                    await self._closed.wait()
        if self._raised is not None:
            raise self._raised
        return self._held[0]

    async def close(self) -> None:
        """Leave the context, and wait until it is left; raises what leaving raises, at each call."""
        self._closing.set()
        await self._closed.wait()
        if self._raised is not None:
            raise self._raised

    async def _hold(self) -> None:
        try:
            with self._scope:
                async with self._manager as held:
                    self._held.append(held)
                    self._opened.set()
                    await self._closing.wait()
        except anyio.get_cancelled_exc_class():
            pass  # the event loop ends, and with it this task
        except BaseException as exc:  # noqa: BLE001  there is nobody above; who opens or closes it raises it
            self._raised = exc
        finally:
            self._opened.set()
            self._closed.set()
