"""The mailbox of one parent agent: the results of what it has started in the background, each given once."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING, Final, Protocol, Unpack

from anyio import CancelScope
from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._app.calls import Call
    from ohm_subagents._app.deliveries import Deliveries
    from ohm_subagents._app.options import CallOptions
    from ohm_subagents._plugins.suites.delivery import Delivery
    from ohm_subagents._plugins.suites.tool import OnUpdate
    from ohm_subagents.contract.ids import TaskId

SEPARATOR: Final = "/"
"""Between the name of a parent and the rest of the id of a call of its."""
ENDED: Final = "What you had started in the background has ended since your last turn:"
"""The head of a message with results."""


class BeginsCalls(Protocol):
    """An `Ohm`, as far as an mailbox needs it."""

    async def begin(
        self,
        name: str,
        arguments: object,
        *,
        call_id: str | None = None,
        on_update: OnUpdate | None = None,
        result_type: type[object] | None = None,
        **options: Unpack[CallOptions],
    ) -> Call:
        """Begin a call of a mounted tool."""
        ...


class Mailbox:
    """The results of the background tasks of one parent agent, for its next turn. `Ohm.mailbox` opens one.

    What the result of a call has told the parent is not told again.
    """

    def __init__(self, ohm: BeginsCalls, deliveries: Deliveries, *, parent: str) -> None:
        """Use `Ohm.mailbox`."""
        self._ohm = ohm
        self._deliveries = deliveries
        self._parent = parent
        self._waiting: dict[TaskId, Delivery] = {}

    async def begin(
        self, name: str, arguments: object, *, on_update: OnUpdate | None = None, **options: Unpack[CallOptions]
    ) -> Call:
        """Begin a call of a mounted tool for the parent, as `Ohm.begin`; `has_read` says that it has the result."""
        call_id = f"{self._parent}{SEPARATOR}{token_hex(8)}"
        return await self._ohm.begin(name, arguments, call_id=call_id, on_update=on_update, **options)

    async def has_read(self, call: Call, *, everything: bool = False) -> None:
        """Take out what the result of a call tells; with `everything`, all tasks that the call has started."""
        await checkpoint()
        self._collect()
        await self._taken({*call.told_ids, *(call.task_ids if everything else ())})

    async def take(self, *, beside: Call | None = None) -> tuple[Delivery, ...]:
        """Take what has settled since the last time and was not told yet, oldest first; never waits for a task.

        What the call `beside` has started is left for the next time.
        """
        await checkpoint()
        self._collect()
        own = () if beside is None else beside.task_ids
        return await self._taken([task_id for task_id in self._waiting if task_id not in own])

    async def message(self, *, beside: Call | None = None) -> str:
        """Take the same as one text for the model: a frame for each result; empty if there is nothing."""
        taken = await self.take(beside=beside)
        return "\n\n".join([ENDED, *(each.text for each in taken)]) if taken else ""

    async def _taken(self, task_ids: Iterable[TaskId]) -> tuple[Delivery, ...]:
        """Take out what there is of these tasks, all at once, and return it acknowledged: nobody else gets it."""
        taken = tuple(found for each in task_ids if (found := self._waiting.pop(each, None)) is not None)
        with CancelScope(shield=True):  # what is acknowledged never comes again
            for each in taken:
                await each.ack()
        return taken

    def _collect(self) -> None:
        for each in self._deliveries.pending():
            self._waiting[each.task_id] = each
