"""Further attempts at a task that has failed for a reason that may pass: each is a task of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.suite import Accepted, StartReply, shared_budget

if TYPE_CHECKING:
    from collections.abc import Callable

    import anyio

    from ohm_subagents.suite import Command, Executor, Observer, Progress, Reply, SessionId, SessionTask


class Attempts:
    """Executes a command, and then again while `again` returns True, at most `most` times in all.

    The reply is that of the newest attempt that was admitted. All attempts together have the budget of one start.
    """

    def __init__(self, executor: Executor, *, most: int, again: Callable[[], bool]) -> None:
        self._executor = executor
        self._most = most
        self._again = again

    async def execute(
        self,
        command: Command,
        *,
        observer: Observer | None = None,
        progress: Progress | None = None,
        abort: anyio.Event | None = None,
    ) -> Reply:
        with shared_budget():
            reply = await self._executor.execute(command, observer=observer, progress=progress, abort=abort)
            for _ in range(1, self._most):
                if not _is_admitted(reply) or not self._again():
                    break
                newer = await self._executor.execute(command, observer=observer, progress=progress, abort=abort)
                if not _is_admitted(newer):  # the failure before says more than why there is no other attempt
                    break
                reply = newer
        return reply

    async def read_session(self, session_id: SessionId) -> tuple[SessionTask, ...]:
        return await self._executor.read_session(session_id)


def _is_admitted(reply: Reply) -> bool:
    return isinstance(reply, StartReply) and all(isinstance(item, Accepted) for item in reply.items)
