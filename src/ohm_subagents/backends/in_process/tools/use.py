"""The rights of the tools of one run."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic_ai import RunContext

from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.place import Place
from ohm_subagents.plugin import FINALIZE


@dataclass(slots=True, kw_only=True)
class ToolUse:
    """The deps of a run's agent. `file_changed` hears the path of each file that was written.

    `closing` is the text for the model when it has to answer now: from then on no tool starts, but the one by which it
    answers, if it `hands_in` its answer. Empty until then.
    """

    file_changed: Callable[[str], None]
    hands_in: bool = False
    closing: str = ""

    def close(self, text: str) -> None:
        """Let no further tool start; the first text stays."""
        self.closing = self.closing or text


def refuse_if_closed(ctx: RunContext[object]) -> None:
    """Fail a call that comes after the tools were closed, unless it hands in the answer."""
    if not isinstance(ctx.deps, ToolUse) or not ctx.deps.closing or ctx.tool_name == FINALIZE:
        return
    if ctx.deps.hands_in:
        fail(f"No other tool can be used any more: call {FINALIZE} now with what you have.")
    fail("No tool can be used any more: answer now with what you have.")


def tell_changed(ctx: RunContext[object], place: Place) -> None:
    """Say that the file has been written."""
    if isinstance(ctx.deps, ToolUse):
        ctx.deps.file_changed(place.shown)
