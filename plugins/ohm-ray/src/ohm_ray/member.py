"""A runner of a pool as its backend sees it: the way to it, and its load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ohm_ray.runners import RunnerTransport
from ohm_subagents.plugin import Err, ErrorCode
from ohm_subagents.remote import RemoteBackend, RunnerLoad

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from anyio.abc import TaskGroup

    from ohm_ray.runners import Runners
    from ohm_subagents.plugin import OhmError, Result, RunOutput
    from ohm_subagents.remote import Deposits, Patience
    from ohm_subagents.workspaces import GitWorkspaces


class Member:
    """A runner of the pool, and what is known of it.

    Fields:
        load: the runs of this program that are there.
        others: the number of runs that were there before the first one of this program.
    """

    def __init__(
        self,
        runners: Runners,
        number: int,
        group: TaskGroup,
        patience: Patience,
        *,
        clones: GitWorkspaces | None,
        deposits: Deposits | None,
    ) -> None:
        self.transport = RunnerTransport(runners, number)
        self.remote = RemoteBackend(self.transport, group, patience, clones, deposits)
        self.load = RunnerLoad()
        self.others = 0
        self._life = 0

    async def having(self, run: Awaitable[Result[RunOutput, OhmError]]) -> Result[RunOutput, OhmError]:
        """Return what becomes of a run here, and count it meanwhile; the first one lost closes it for all."""
        life, self.load = self._life, self.load.begun()
        was_lost = False
        try:
            result = await run
            was_lost = is_lost(result)
        finally:
            if life == self._life:
                self._life += was_lost
                self.load = self.load.lost(anyio.current_time()) if was_lost else self.load.ended()
        return result


def is_lost(result: Result[RunOutput, OhmError]) -> bool:
    """Return True if a run has ended because its runner is lost."""
    return isinstance(result, Err) and result.err_value.code == ErrorCode.RUNNER_LOST
