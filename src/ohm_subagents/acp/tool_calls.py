"""Tool calls as an editor shows them: kind, title, places and changes; pure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acp.helpers import text_block, tool_content, tool_diff_content
from acp.schema import ToolCallLocation

from ohm_subagents.contract import shortened, truncate
from ohm_subagents.views import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
_KINDS: Final[Mapping[str, ToolKind]] = {
    **dict.fromkeys(("read", "read_file", "readfile", "notebookread", "view"), "read"),
    **dict.fromkeys(("edit", "multiedit", "notebookedit", "write", "write_file", "replace", "apply_patch"), "edit"),
    **dict.fromkeys(("grep", "glob", "find", "ls", "list", "code_search", "grep_search", "list_directory"), "search"),
    **dict.fromkeys(("bash", "shell", "exec_command", "run_shell_command"), "execute"),
    **dict.fromkeys(("webfetch", "web_fetch", "websearch", "web_search", "google_web_search"), "fetch"),
    **dict.fromkeys(("write_todos", "edit_todos", "list_todos", "todowrite", "todoread", "subagent_finalize"), "think"),
}
_SUBJECTS: Final = ("command", "pattern", "query", "url", "description")
_PATHS: Final = ("path", "file_path", "filePath", "filename", "notebook_path")
_OLD: Final = ("oldText", "old_text", "old_string", "oldString")
_NEW: Final = ("newText", "new_text", "new_string", "newString")


class ToolCall:
    """One call of a tool, from its first event on."""

    def __init__(self, call_id: str, event: ToolStarted, cwd: Path) -> None:
        """`call_id` is the one that the editor gets: no other call of the session has it."""
        self.id = call_id
        self._tool = event.tool
        self._text = event.args
        self._arguments = arguments_of(event.args)
        path = _first(self._arguments, _PATHS)
        self._path = None if path is None else f"{cwd / Path(path)}"

    @property
    def kind(self) -> ToolKind:
        """The category by which an editor chooses an icon."""
        return _KINDS.get(self._tool.casefold(), "other")

    @property
    def title(self) -> str:
        """The name of the tool, and its subject."""
        subject = _first(self._arguments, (*_SUBJECTS, *_PATHS)) or ("" if self._arguments else self._text)
        return shortened(f"{self._tool} {one_line(subject)}".strip(), _TITLE_CHARS)

    @property
    def arguments(self) -> JsonValue:
        """The arguments as JSON, or as the text that they are."""
        return dict(self._arguments) if self._arguments else self._text or None

    @property
    def locations(self) -> Sequence[ToolCallLocation] | None:
        """The file that the call is about, and the line where it says one; the path is absolute."""
        if self._path is None:
            return None
        line = next((self._arguments[key] for key in ("line", "offset") if key in self._arguments), None)
        known = line if isinstance(line, int) and not isinstance(line, bool) and line >= 0 else None
        return [ToolCallLocation(path=self._path, line=known)]

    @property
    def change(self) -> list[Content] | None:
        """The change of a file, as far as the arguments tell it."""
        if self.kind != "edit" or self._path is None:
            return None
        old, new = _first(self._arguments, _OLD), _first(self._arguments, _NEW)
        if old is not None and new is not None:
            return [tool_diff_content(self._path, truncate(new, MAX_CHARS).text, truncate(old, MAX_CHARS).text)]
        written = _first(self._arguments, ("content",))
        return None if written is None else [tool_diff_content(self._path, truncate(written, MAX_CHARS).text)]


def output_content(text: str) -> list[Content] | None:
    """Return an output of a tool as content, truncated; None for none."""
    return [tool_content(text_block(truncate(text, MAX_CHARS).text))] if text.strip() else None


def arguments_of(text: str) -> Mapping[str, JsonValue]:
    """Return the arguments of a call as an object, an empty one where the text is none."""
    try:
        found: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _first(arguments: Mapping[str, JsonValue], names: Sequence[str]) -> str | None:
    return next((value for name in names if isinstance(value := arguments.get(name), str)), None)
