"""`read`: a part of a text file."""

from dataclasses import dataclass

from anyio import to_thread
from pydantic import Field
from pydantic_ai import RunContext, Tool

from ohm_subagents.backends.in_process.tools.arguments import Arguments
from ohm_subagents.backends.in_process.tools.child_tool import child_tool
from ohm_subagents.backends.in_process.tools.excerpt import MAX_LINES, head
from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.place import Place, locate
from ohm_subagents.backends.in_process.tools.text_file import decode, open_text, raw_lines

_DESCRIPTION = (
    f"Read a text file. Shows at most {MAX_LINES} lines; a longer file is read in parts with offset and limit."
)
_COUNTED_LINES = 2_000_000  # beyond the part that is shown; a longer file is said to go on


class ReadArguments(Arguments):
    path: str = Field(description="File, relative to the working directory.")
    offset: int | None = Field(default=None, ge=1, description="First line to show, counted from 1.")
    limit: int | None = Field(default=None, ge=1, description=f"How many lines to show, at most {MAX_LINES}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Lines `first` to `last` of a file with `total` lines, or of one too long to count (`None`)."""

    lines: tuple[str, ...]
    first: int
    last: int
    total: int | None


def tool() -> Tool[object]:
    """Build the tool."""
    return child_tool(read, description=_DESCRIPTION)


async def read(ctx: RunContext[object], arguments: ReadArguments) -> str:
    place = await locate(ctx.workspace, arguments.path)
    offset = arguments.offset or 1
    limit = min(arguments.limit or MAX_LINES, MAX_LINES)
    part = await to_thread.run_sync(_part, place, offset, limit, abandon_on_cancel=True)
    if part.total == 0:
        return f"[{place.shown} is empty]"
    if part.last < part.first:
        fail(f"The offset {offset} is past the end of {place.shown}, which has {part.total} lines.")
    text = "\n".join(part.lines)
    if part.first == 1 and part.last == part.total:
        return text
    total = f" of {part.total}" if part.total else ""
    rest = "" if part.last == part.total else f"; continue with offset={part.last + 1}"
    return f"{text}\n\n[Showing lines {part.first}-{part.last}{total}{rest}]"


def _part(place: Place, offset: int, limit: int) -> Part:
    """Read the part, then count the rest without keeping it. Runs in a worker thread."""
    with open_text(place) as file:
        lines = raw_lines(file)
        skipped = sum(1 for _ in zip(range(offset - 1), lines, strict=False))
        excerpt = head((decode(line) for line in lines), max_lines=limit)
        shown = len(excerpt.lines)
        # `head` has taken one line more than it kept when it cut.
        beyond = sum(1 for _ in zip(range(_COUNTED_LINES), lines, strict=False))
        is_counted = beyond < _COUNTED_LINES
    total = skipped + shown + excerpt.cut + beyond
    text = (
        excerpt.lines if offset > 1 else (excerpt.lines[0].removeprefix("\ufeff"), *excerpt.lines[1:]) if shown else ()
    )
    return Part(lines=text, first=offset, last=offset - 1 + shown, total=total if is_counted else None)
