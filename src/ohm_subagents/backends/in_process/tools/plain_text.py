"""Search for plain text, for machines without ripgrep."""

import re
from collections.abc import Iterator
from pathlib import Path

from anyio import to_thread

from ohm_subagents.backends.in_process.tools.excerpt import clip
from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.text_file import opened_lines
from ohm_subagents.backends.in_process.tools.tree import LINE_CHARS, Hits, Line, Query

_OPERATORS = re.compile(r"[\\.^$*+?()\[\]{}|]")


class PlainText:
    """Takes plain text only: Python's regular expressions can take for ever and cannot be interrupted."""

    async def match(self, root: Path, paths: list[str], query: Query, hits: Hits) -> bool:
        """See `Matcher`; reads in a worker thread, which stops soon after its call was cancelled."""
        if not query.literal and _OPERATORS.search(query.pattern):
            fail(
                f'The pattern "{clip(query.pattern, LINE_CHARS)}" needs ripgrep, which was not found; '
                "set literal to search it as text, or search for a plain word."
            )
        return await to_thread.run_sync(_match, root, paths, query, hits, abandon_on_cancel=True)


def _match(root: Path, paths: list[str], query: Query, hits: Hits) -> bool:
    for path in paths:
        with opened_lines(root, path) as lines:
            if lines is None:
                hits.gaps.unread = True
            elif not all(hits.add(line) for line in _matches(path, lines, query)):
                return False
    return True


def _matches(path: str, lines: Iterator[str], query: Query) -> Iterator[Line]:
    """The matching lines of a file with their context, each line once."""
    fold = str.lower if query.ignore_case else str
    sought = fold(query.pattern)
    before: list[Line] = []
    after = 0
    for number, text in enumerate(lines, start=1):
        if sought in fold(text):
            yield from before
            before = []
            after = query.context
            yield Line(file=path, number=number, text=text, is_match=True)
        elif after:
            after -= 1
            yield Line(file=path, number=number, text=text, is_match=False)
        elif query.context:
            before = [*before, Line(file=path, number=number, text=text, is_match=False)][-query.context :]
