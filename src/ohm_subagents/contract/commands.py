"""Commands: what a caller asks of the engine; replies: the engine's answer. Neither knows a tool payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.limits import Limits
from ohm_subagents.contract.task import Invocation, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class StartItem:
    """One task to start. `profile` is what the caller typed; `model` and `limits` are this call's own choice."""

    profile: str
    description: str
    prompt: str
    model: str | None = None
    backend: str | None = None
    limits: Limits | None = None
    invocation: Invocation = "task-routed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start the items; a single task is a batch of one. Items run one after another unless `parallel`."""

    items: tuple[StartItem, ...]
    parallel: bool = False
    background: bool = False
    op: Literal["start"] = "start"


Command = Start


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An item that was never admitted. `profile` is the id of its profile once that was found."""

    item: StartItem
    error: OhmError
    profile: str | None = None
    invocation: Invocation | None = None
    kind: Literal["refused"] = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """An item that became a task; `task` is its newest state."""

    task: Task
    kind: Literal["accepted"] = "accepted"


ItemReply = Accepted | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """One reply an item, in input order; `backend` is the label of the configured backend."""

    items: tuple[ItemReply, ...]
    backend: str
    op: Literal["start"] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The whole command was refused before any item was looked at."""

    error: OhmError
    backend: str
    op: Literal["start"] = "start"


Reply = Started | Rejected
