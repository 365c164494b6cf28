"""Tool calls as an editor shows them: kind, title, places and changes; pure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from acp.helpers import text_block, tool_content, tool_diff_content
from acp.schema import ToolCallLocation

from ohm_subagents.contract import shortened, truncate
from ohm_subagents.views import named_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acp.schema import (
        ContentToolCallContent,
        FileEditToolCallContent,
        TerminalToolCallContent,
        ToolKind,
    )
    from pydantic import JsonValue

    from ohm_subagents.contract import ToolStarted

    Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent

MAX_CHARS: Final = 50_000
"""Characters of one output that an editor is sent; the kept task has all of it."""
_TITLE_CHARS: Final = 90


class ToolCall:
    """One call of a tool, from its first event on."""

    def __init__(self, call_id: str, event: ToolStarted, cwd: Path) -> None:
        """`call_id` is the one that the editor gets: no other call of the session has it."""
        self.id = call_id
        self._call = named_call(event.tool, event.args)
        self._cwd = cwd
        self._path = None if self._call.path is None else f"{cwd / Path(self._call.path)}"

    @property
    def kind(self) -> ToolKind:
        """The category by which an editor chooses an icon."""
        return self._call.kind

    @property
    def title(self) -> str:
        """The name of the tool, and its subject."""
        return shortened(f"{self._call.tool} {self._call.subject(f'{self._cwd}')}".strip(), _TITLE_CHARS)

    @property
    def arguments(self) -> JsonValue:
        """The arguments as JSON, or as the text that they are."""
        return dict(self._call.arguments) if self._call.arguments else self._call.text or None

    @property
    def locations(self) -> Sequence[ToolCallLocation] | None:
        """The file that the call is about, and the line where it says one; the path is absolute."""
        return None if self._path is None else [ToolCallLocation(path=self._path, line=self._call.line)]

    @property
    def change(self) -> list[Content] | None:
        """The changes of a file, as far as the arguments tell them."""
        if self._path is None or not self._call.changes:
            return None
        return [
            tool_diff_content(
                self._path,
                truncate(one.new, MAX_CHARS).text,
                None if one.old is None else truncate(one.old, MAX_CHARS).text,
            )
            for one in self._call.changes
        ]


def output_content(text: str) -> list[Content] | None:
    """Return an output of a tool as content, truncated; None for none."""
    return [tool_content(text_block(truncate(text, MAX_CHARS).text))] if text.strip() else None
