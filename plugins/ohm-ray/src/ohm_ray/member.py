"""A runner of a pool as its backend sees it: the way to it, and its load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_ray.runners import RunnerTransport
from ohm_subagents.plugin import Err, ErrorCode
from ohm_subagents.remote import RemoteBackend, RunnerLoad

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ohm_ray.options import RayOptions
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
        options: RayOptions,
        group: TaskGroup,
        patience: Patience,
        number: int,
        *,
        clones: GitWorkspaces | None,
        deposits: Deposits | None,
    ) -> None:
        self.transport = RunnerTransport(runners, number, options)
        self.remote = RemoteBackend(self.transport, group, patience, clones, deposits)
        self.load = RunnerLoad()
        self.others = 0
        self._life = 0

    def begin(self) -> int:
        """Count a run that begins here; return the life of the runner, for `end`."""
        self.load = self.load.begun()
        return self._life

    def end(self, life: int, *, now: float, was_lost: bool) -> None:
        """Count a run no more that has begun in a life of the runner; the first one lost closes it for all."""
        if life == self._life:
            self._life += was_lost
            self.load = self.load.lost(now) if was_lost else self.load.ended()


def is_lost(result: Result[RunOutput, OhmError]) -> bool:
    """Return True if a run has ended because its runner is lost."""
    return isinstance(result, Err) and result.err_value.code == ErrorCode.RUNNER_LOST
