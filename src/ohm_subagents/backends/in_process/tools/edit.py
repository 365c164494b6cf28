"""`edit`: one exact replacement in a file."""

import os

from anyio import to_thread
from pydantic import Field
from pydantic_ai import RunContext, Tool

from ohm_subagents.backends.in_process.tools.arguments import Arguments
from ohm_subagents.backends.in_process.tools.child_tool import child_tool
from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.place import Place, locate
from ohm_subagents.backends.in_process.tools.text_file import open_regular, write_file
from ohm_subagents.backends.in_process.tools.use import tell_changed

_DESCRIPTION = (
    "Replace one exact piece of text in a file. oldText must occur exactly once, whitespace included; "
    "add surrounding lines to make it unique."
)
_MAX_BYTES = 10_000_000


class EditArguments(Arguments):
    path: str = Field(description="File, relative to the working directory.", min_length=1)
    old_text: str = Field(description="The text to replace, exactly as it stands in the file.", min_length=1)
    new_text: str = Field(description="The text to put in its place.")


def tool() -> Tool[object]:
    """Build the tool. It runs alone, so that calls of one turn take effect in order."""
    return child_tool(edit, description=_DESCRIPTION, sequential=True)


async def edit(ctx: RunContext[object], arguments: EditArguments) -> str:
    place = await locate(ctx.workspace, arguments.path)
    line = await to_thread.run_sync(_replace, place, arguments)
    tell_changed(ctx, place)
    return f"Replaced 1 occurrence in {place.shown}, from line {line}."


def _replace(place: Place, arguments: EditArguments) -> int:
    """Change the file and say from which line. Runs in a worker thread, to its end."""
    text, read = _text(place)
    old, new = arguments.old_text, arguments.new_text
    if "\r\n" in text and old not in text:  # a model writes \n; the file keeps its own line ends
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    count = text.count(old)
    if count == 0:
        fail(f"oldText was not found in {place.shown}; read the file and copy the text exactly, whitespace included.")
    if count > 1:
        fail(f"oldText occurs {count} times in {place.shown}; it must occur exactly once: add surrounding lines to it.")
    if old == new:
        fail(f"oldText and newText are the same, so nothing was changed in {place.shown}.")
    start = text.index(old)
    write_file(place, (text[:start] + new + text[start + len(old) :]).encode(), read=read)
    return text.count("\n", 0, start) + 1


def _text(place: Place) -> tuple[str, os.stat_result]:
    """Return the text of the file, and which file it was."""
    with open_regular(place) as file:
        read = os.fstat(file.fileno())
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        fail(f"{place.shown} is too large; edit takes files of at most {_MAX_BYTES} bytes.")
    try:
        return data.decode(), read
    except UnicodeDecodeError as error:
        fail(f"{place.shown} is not UTF-8 text, so it cannot be edited.", error)
