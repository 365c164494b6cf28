"""`grep`: lines that match, in the files of a tree."""

import os
from collections.abc import Iterator
from contextlib import suppress

from anyio import to_thread
from pydantic import Field
from pydantic_ai import RunContext, Tool

from ohm_subagents.backends.in_process.regular_file import DIRECTORY
from ohm_subagents.backends.in_process.tools.arguments import Arguments
from ohm_subagents.backends.in_process.tools.child_tool import child_tool
from ohm_subagents.backends.in_process.tools.excerpt import clip, head
from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.globs import glob
from ohm_subagents.backends.in_process.tools.hits import LINE_CHARS, Hits, Line, Query
from ohm_subagents.backends.in_process.tools.place import Place, locate
from ohm_subagents.backends.in_process.tools.text_file import open_place, open_text
from ohm_subagents.backends.in_process.tools.tree import TreeSearch

_LIMIT = 100
_MAX_LIMIT = 1000
_DESCRIPTION = (
    "Search the contents of files for a regular expression. Gives path:line: text, ordered by path. Hidden, ignored "
    f"and binary files are left out. Shows at most limit matches (default {_LIMIT})."
)


class GrepArguments(Arguments):
    pattern: str = Field(description="Regular expression, or plain text with literal.", min_length=1, max_length=4000)
    path: str | None = Field(default=None, description="Directory or file to search (default: working directory).")
    glob: str | None = Field(default=None, description="Only files whose name or path matches, such as *.py.")
    ignore_case: bool = Field(default=False, description="Take upper and lower case as equal.")
    literal: bool = Field(default=False, description="Take the pattern as plain text.")
    context: int = Field(default=0, ge=0, le=50, description="Lines to show before and after each match.")
    limit: int = Field(default=_LIMIT, ge=1, description=f"How many matches to show, at most {_MAX_LIMIT}.")


def tool(search: TreeSearch) -> Tool[object]:
    """Build the tool over a tree search."""

    async def grep(ctx: RunContext[object], arguments: GrepArguments) -> str:
        if "\0" in arguments.pattern:
            fail("The pattern holds a NUL character, which no line of a text file does; leave it out.")
        place = await locate(ctx.workspace, arguments.path or ".")
        await to_thread.run_sync(_check_start, place, abandon_on_cancel=True)
        query = Query(
            pattern=arguments.pattern,
            literal=arguments.literal,
            ignore_case=arguments.ignore_case,
            context=arguments.context,
        )
        wanted = await to_thread.run_sync(glob, arguments.glob or "*", abandon_on_cancel=True)
        limit = min(arguments.limit, _MAX_LIMIT)
        start = place.shown
        hits = await search.grep(place.root, start, query, lambda path: wanted(below(start, path)), limit)
        return _report(hits, arguments.pattern)

    return child_tool(grep, description=_DESCRIPTION)


def _check_start(place: Place) -> None:
    """Refuse to search what is not there, or a file that is not text."""
    with suppress(PermissionError):  # the search tells what it could not read
        try:
            os.close(open_place(place, DIRECTORY | os.O_NOFOLLOW))
        except NotADirectoryError:
            open_text(place).close()
        except FileNotFoundError:
            fail(f'There is no file or directory "{place.shown}".')


def below(start: str, path: str) -> str:
    """Return a path as seen from where the search starts; a glob is held against this."""
    return path.removeprefix(f"{start}/")


def _report(hits: Hits, pattern: str) -> str:
    excerpt = head(_rows(hits.lines))
    parts = ["\n".join(excerpt.lines) or f'[No matches for "{clip(pattern, LINE_CHARS)}"]']
    if hits.more or excerpt.cut:
        shown = sum(line.is_match for line in hits.lines)
        cut = "The output was cut" if excerpt.cut else f"Showing the first {shown} matches; there are more"
        parts.append(f"[{cut}: narrow the pattern, path or glob, or raise limit]")
    return "\n\n".join([*parts, *hits.gaps.notes()])


def _rows(lines: list[Line]) -> Iterator[str]:
    """`path:line: text` for a match, `path-line- text` for context, `--` between groups of lines."""
    has_context = any(not line.is_match for line in lines)
    previous: Line | None = None
    for line in lines:
        if has_context and previous and (previous.file != line.file or line.number != previous.number + 1):
            yield "--"
        sign = ":" if line.is_match else "-"
        yield f"{line.path}{sign}{line.number}{sign} {line.text}"
        previous = line
