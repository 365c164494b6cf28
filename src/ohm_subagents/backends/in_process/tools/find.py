"""`find`: files whose name or path matches."""

from anyio import to_thread
from pydantic import Field
from pydantic_ai import RunContext, Tool

from ohm_subagents.backends.in_process.tools.arguments import Arguments
from ohm_subagents.backends.in_process.tools.child_tool import child_tool
from ohm_subagents.backends.in_process.tools.excerpt import MAX_CHARS, clip, head
from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.globs import glob
from ohm_subagents.backends.in_process.tools.grep import below
from ohm_subagents.backends.in_process.tools.place import locate
from ohm_subagents.backends.in_process.tools.tree import TreeSearch

_LIMIT = 1000
_DESCRIPTION = (
    "Find files by glob pattern, such as *.py or src/**/*.{ts,tsx}. A pattern without a slash is held against the "
    f"name at any depth. Ordered by path; hidden and ignored files are left out. Shows at most "
    f"limit files (default {_LIMIT})."
)


class FindArguments(Arguments):
    pattern: str = Field(description="Glob pattern.", min_length=1, max_length=1000)
    path: str | None = Field(default=None, description="Directory to search (default: working directory).")
    limit: int = Field(default=_LIMIT, ge=1, description="How many files to show.")


def tool(search: TreeSearch) -> Tool[object]:
    """Build the tool over a tree search."""

    async def find(ctx: RunContext[object], arguments: FindArguments) -> str:
        place = await locate(ctx.workspace, arguments.path or ".")
        if not await ctx.workspace.exists(str(place.path)):
            fail(f'There is no directory "{place.shown}".')
        matches = await to_thread.run_sync(glob, arguments.pattern, abandon_on_cancel=True)
        start = place.shown
        limit = min(arguments.limit, MAX_CHARS)
        files = await search.files(place.root, start, lambda path: matches(below(start, path)), limit)
        excerpt = head(files.paths, max_lines=limit)
        parts = ["\n".join(excerpt.lines) or f'[No files match "{clip(arguments.pattern)}"]']
        if files.total > len(excerpt.lines):
            parts.append(f"[Showing {len(excerpt.lines)} of {files.total} files; narrow the pattern or path]")
        parts += files.gaps.notes()
        return "\n\n".join(parts)

    return child_tool(find, description=_DESCRIPTION)
