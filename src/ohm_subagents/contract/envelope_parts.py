"""The parts of an envelope that are records of their own: usage, the rest of the budgets, and models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue

from ohm_subagents.contract.requests import RequestKind
from ohm_subagents.contract.workspace import Landed


class Record(BaseModel):
    """A part of an envelope."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    def payload(self) -> dict[str, JsonValue]:
        """Return plain JSON, without the keys that do not apply."""
        return self.model_dump(mode="json", exclude_none=True)


class UsageCounts(Record):
    """Counts of what was used; `cost_usd` only when the model has a price."""

    requests: int
    """Requests to models."""
    input_tokens: int
    """Input tokens, cached ones among them."""
    output_tokens: int
    """Output tokens."""
    cached_tokens: int
    """Input tokens that were read from a provider's cache."""
    tool_calls: int
    """Tool calls."""
    cost_usd: str | None = None
    """US dollars, as a decimal number; absent while nothing was priced."""


class UsageBlock(UsageCounts):
    """The usage of the task itself over all its runs, and that of its tree.

    Without `tree` no task below it used anything: then the counts here are those of the tree too.
    """

    own: UsageCounts | None = None
    """The usage of the task itself, once more; there where `tree` is."""
    tree: UsageCounts | None = None
    """The usage of the task and of all tasks below it, at any depth, those that run among them."""


class RemainingBlock(Record):
    """The rest of each budget that the task is charged to, those of its call and of the tasks above it too.

    The smallest counts, as at the newest event of the task. A key without a limit is absent.
    """

    requests: int | None = None
    """Requests to models."""
    tokens: int | None = None
    """Tokens, input and output together."""
    cost_usd: str | None = None
    """US dollars, as a decimal number."""
    tool_calls: int | None = None
    """Tool calls of subagents."""
    spawns: int | None = None
    """Tasks that tasks may start."""
    wall_ms: int | None = None
    """Milliseconds."""


class RequestBlock(Record):
    """A request of the subagent that waits for an answer."""

    id: str
    """Its id."""
    kind: RequestKind
    """`tool` for a call that is to be approved, `question` for a question."""
    tool: str
    """The tool that is to be called, or that asks."""
    arguments: str | None = None
    """The arguments of the call, without secrets, and cut where they are long."""
    question: str | None = None
    """The question."""
    options: list[str] | None = None
    """The answers that the subagent proposes."""
    reason: str | None = None
    """The rule that asks."""
    expires_at_epoch_ms: int | None = None
    """The time at which it is denied, in epoch milliseconds."""


class ModelUse(Record):
    """A model that was chosen to do the work."""

    model: str
    """The model, as `<provider>/<model>` or `<provider>/<model>:<thinking>`."""
    why: str
    """The reason: the name that was asked for, or the failure of the model before it."""


class WorkspaceBlock(Record):
    """The changes to the files of a workspace of its own."""

    base: str
    """The commit that the task began with."""
    ref: str
    """The reference that keeps them, on top of the base."""
    files: int
    """Files that differ."""
    insertions: int
    """Lines that were added."""
    deletions: int
    """Lines that were removed."""
    landed: Landed
    """`clean` once the files of the parent have them, `conflict` where that was tried in vain, `discarded`, or `no`."""
    conflicts: list[str] | None = None
    """The reasons of a conflict, one a file, the first ones of many."""
    """`clean` once they are in the files of the parent too; `conflict` where that was tried in vain."""
