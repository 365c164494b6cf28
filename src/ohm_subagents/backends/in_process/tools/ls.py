"""`ls`: the entries of a directory."""

import os

from anyio import to_thread
from pydantic import Field
from pydantic_ai import RunContext, Tool

from ohm_subagents.backends.in_process.regular_file import DIRECTORY
from ohm_subagents.backends.in_process.tools.arguments import Arguments
from ohm_subagents.backends.in_process.tools.child_tool import child_tool
from ohm_subagents.backends.in_process.tools.excerpt import head
from ohm_subagents.backends.in_process.tools.place import Place, locate, printable
from ohm_subagents.backends.in_process.tools.text_file import open_place

_LIMIT = 500
_DESCRIPTION = "List a directory in order of name, hidden entries included. A directory ends with a slash."


class LsArguments(Arguments):
    path: str | None = Field(default=None, description="Directory, relative to the working directory (default: it).")
    limit: int | None = Field(default=None, ge=1, description=f"How many entries to show (default {_LIMIT}).")


def tool() -> Tool[object]:
    """Build the tool."""
    return child_tool(ls, description=_DESCRIPTION)


async def ls(ctx: RunContext[object], arguments: LsArguments) -> str:
    place = await locate(ctx.workspace, arguments.path or ".")
    names = await to_thread.run_sync(_names, place, abandon_on_cancel=True)
    if not names:
        return f"[{place.shown} is an empty directory]"
    excerpt = head(names, max_lines=arguments.limit or _LIMIT)
    text = "\n".join(excerpt.lines)
    if not excerpt.cut:
        return text
    shown = len(excerpt.lines)
    return f"{text}\n\n[Showing {shown} of {len(names)} entries; raise limit or use find to see the others]"


def _names(place: Place) -> list[str]:
    """Return the entries as they are shown. Runs in a worker thread."""
    handle = open_place(place, DIRECTORY | os.O_NOFOLLOW)
    try:
        with os.scandir(handle) as entries:
            return [printable(entry.name) + ("/" if _is_dir(entry) else "") for entry in sorted(entries, key=_name)]
    finally:
        os.close(handle)


def _name(entry: "os.DirEntry[str]") -> str:
    return entry.name


def _is_dir(entry: "os.DirEntry[str]") -> bool:
    """Return True for a directory or a link to one; a link in a circle is neither."""
    try:
        return entry.is_dir()
    except OSError:
        return False
