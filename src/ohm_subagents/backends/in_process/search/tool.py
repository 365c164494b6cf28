"""`code_search`: the places in a tree that best match a question, ranked."""

from collections.abc import Iterator, Sequence

from pydantic import Field
from pydantic_ai import RunContext, Tool

from ohm_subagents.backends.in_process.search.code_index.index import MAX_FILE_BYTES, CodeIndexes, LeftOut, Question
from ohm_subagents.backends.in_process.search.code_index.ranking import Hit
from ohm_subagents.backends.in_process.tools.arguments import Arguments
from ohm_subagents.backends.in_process.tools.child_tool import child_tool
from ohm_subagents.backends.in_process.tools.excerpt import clip, head
from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.globs import everything
from ohm_subagents.backends.in_process.tools.hits import Files, Gaps
from ohm_subagents.backends.in_process.tools.place import locate
from ohm_subagents.backends.in_process.tools.tree import TreeSearch

_LIMIT = 8
_MAX_LIMIT = 30
_SNIPPET_LINES = 3
_SNIPPET_CHARS = 200
_MAX_FILES = 20_000
_MAX_QUERY_CHARS = 2000
_DESCRIPTION = (
    "Find where something is done: ranks functions, classes, constants and text by the words of a question. Ask in "
    "words that the code or its comments would use. Gives path:start-end and the best lines of each place. Files over "
    f"{MAX_FILE_BYTES} bytes are left out."
)


class CodeSearchArguments(Arguments):
    query: str = Field(
        description="Question or words, such as: where are retries counted.", min_length=1, max_length=_MAX_QUERY_CHARS
    )
    path: str | None = Field(default=None, description="Directory or file to search (default: working directory).")
    limit: int = Field(default=_LIMIT, ge=1, description=f"How many places to show, at most {_MAX_LIMIT}.")


def _limits(files: Files, left_out: LeftOut) -> Iterator[str]:
    """Yield a note for whatever was not searched."""
    if files.total > len(files.paths):
        yield f"[Only the first {len(files.paths)} of {files.total} files were searched; give a path]"
    if left_out.large:
        yield f"[Not searched: files over {MAX_FILE_BYTES} bytes ({left_out.large}); use grep for them]"
    if left_out.beyond:
        yield f"[Not searched: files beyond the size of one index ({left_out.beyond}); give a path]"
    yield from Gaps(unread=files.gaps.unread or left_out.unread > 0, refused=files.gaps.refused).notes()


def _rows(rank: int, hit: Hit, lines: Sequence[tuple[int, str]]) -> list[str]:
    """`1. path:start-end  kind name — summary`, then the best lines as `   line: text`."""
    place = f"{rank}. {hit.path}:{hit.unit.start}-{hit.unit.end}  {hit.unit.title}"
    return [place, *(f"   {number}: {clip(text, _SNIPPET_CHARS)}" for number, text in lines)]


def tool(search: TreeSearch, indexes: CodeIndexes) -> Tool[object]:
    """Build the tool over a tree search and the indexes it may reuse."""

    async def code_search(ctx: RunContext[object], arguments: CodeSearchArguments) -> str:
        place = await locate(ctx.workspace, arguments.path or ".")
        if not await ctx.workspace.exists(str(place.path)):
            fail(f'There is no file or directory "{place.shown}".')
        files = await search.files(place.root, place.shown, everything, _MAX_FILES)
        question = Question(
            root=place.root,
            start=place.shown,
            paths=files.paths,
            words=arguments.query,
            limit=min(arguments.limit, _MAX_LIMIT),
            lines=_SNIPPET_LINES,
            may_keep=files.is_visible,
        )
        found = await indexes.answer(question)
        rows = [row for rank, (hit, lines) in enumerate(found.places, start=1) for row in _rows(rank, hit, lines)]
        nothing = f'[No place matches "{clip(arguments.query, _SNIPPET_CHARS)}"]'
        parts = ["\n".join(head(rows).lines) or nothing, *_limits(files, found.left_out)]
        return "\n\n".join(parts)

    return child_tool(code_search, description=_DESCRIPTION)
