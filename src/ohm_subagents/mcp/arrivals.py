"""The results of what a client has started in the background, as a part of the next result that it gets.

Clients show no message of a server to a model of their own accord, but every result of a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from mcp_types import CallToolResult, TextContent

from ohm_subagents.mcp.tasks import takes_tasks

if TYPE_CHECKING:
    from ohm_subagents import Call, Mailbox, Ohm
    from ohm_subagents.mcp.tasks import Context
AnswerT = TypeVar("AnswerT")
ARRIVAL: Final = (
    "What ends in the background comes with the next result of any of these tools: use op wait only if you cannot go"
    " on without it."
)
"""The sentence for a model whose client has a mailbox: in the description of `task` and in replies."""


class Arrivals:
    """The mailbox of the one client that a server has which is not reached over HTTP.

    Requests over HTTP do not say which of them are of one client, and none may read the results of another.
    """

    def __init__(self, ohm: Ohm) -> None:
        self._ohm = ohm
        self._mailbox: Mailbox | None = None

    def mailbox(self, context: Context) -> Mailbox | None:
        """Return the mailbox; None for a client that asks for results as tasks, or cannot start in the background."""
        is_other = takes_tasks(context) or context.request is not None
        if is_other or self._ohm.config.subagents.async_start != "allow":
            return None
        self._mailbox = self._mailbox or self._ohm.mailbox()
        return self._mailbox


async def with_arrivals(answer: AnswerT, call: Call, mailbox: Mailbox | None) -> AnswerT | CallToolResult:
    """Return the result of a call with what has ended since the last one; what is no result is as it was."""
    if mailbox is None or not isinstance(answer, CallToolResult):
        return answer
    await mailbox.has_read(call)
    message = await mailbox.message(beside=call)
    content = [*answer.content, *([TextContent(type="text", text=message)] if message else [])]
    if set(call.task_ids) - call.told_ids and isinstance(first := content[0], TextContent):
        content[0] = first.model_copy(update={"text": f"{first.text}\n{ARRIVAL}"})
    return answer.model_copy(update={"content": content})
