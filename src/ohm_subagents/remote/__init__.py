"""The door for runs on other machines: host them in a `Runner`, reach it by a `Transport` of yours.

The submitter keeps the task, its record, its budgets and its guards; only the run travels, as the messages of
`ohm_subagents.contract.wire`. Keys and the environment never do.
"""

from ohm_subagents.remote.backend import RemoteBackend, open_remote, remote_capabilities
from ohm_subagents.remote.deposits import Deposits, LedgerLookup, SettlingRun
from ohm_subagents.remote.ledger_service import LEDGER_IDLE_S, KeptState, LedgerService, LedgerTransport
from ohm_subagents.remote.link import Patience
from ohm_subagents.remote.placement import PoolSize, RunnerLoad, Scaling, opens_at, placed, retry_wait_s, wanted_runners
from ohm_subagents.remote.runner import Runner, open_runner
from ohm_subagents.remote.transport import (
    LoopbackTransport,
    RunnerLostError,
    RunnerUnusableError,
    Transport,
    UndeliveredError,
)
from ohm_subagents.remote.workspaces import OpenWorkspace, RunnerWorkspaces, Workspaces

__all__ = [
    "LEDGER_IDLE_S",
    "Deposits",
    "KeptState",
    "LedgerLookup",
    "LedgerService",
    "LedgerTransport",
    "LoopbackTransport",
    "OpenWorkspace",
    "Patience",
    "PoolSize",
    "RemoteBackend",
    "Runner",
    "RunnerLoad",
    "RunnerLostError",
    "RunnerUnusableError",
    "RunnerWorkspaces",
    "Scaling",
    "SettlingRun",
    "Transport",
    "UndeliveredError",
    "Workspaces",
    "open_remote",
    "open_runner",
    "opens_at",
    "placed",
    "remote_capabilities",
    "retry_wait_s",
    "wanted_runners",
]
