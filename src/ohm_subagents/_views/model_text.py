"""The text of a reply for the calling model."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._views.answer import cut_answer
from ohm_subagents._views.cells import cells
from ohm_subagents._views.reply_lines import ReplyLines, TaskLine
from ohm_subagents._views.tree import PREFIX, collapsed
from ohm_subagents._views.tree_entries import entry_of, entry_of_line
from ohm_subagents._views.verification import verified_line
from ohm_subagents._views.view_text import WIDTH, drawn
from ohm_subagents.contract.truncation import truncate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._views.answer import CutAnswer
    from ohm_subagents._views.reply_lines import ErrorLine
    from ohm_subagents._views.tree import TreeEntry
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.task import Task

_LIKE_OURS: Final = re.compile(
    r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"
    r"(?=[^\S\n]*(?:(?:output|partial answer|error|advice|note|verified)[^\S\n]*[(:]|(?:task_id|batch|wait)[^\S\n]*:"
    r"|[✓✕○├╰⠀-⣿]))",
    re.IGNORECASE,
)
"""The end of a line before one that is written like a heading, a footer or a line of a tree."""
NEW_LINE: Final = "\n"
MOST_NOTES: Final = 10
NOTE_MAX_CHARS: Final = 500
"""So many notes of a task, and so much of each, are in a text."""


class Block(NamedTuple):
    """A text below the tree: what it is, of whom, how much of it was cut, and the text.

    Where the tree tells the `gist`, only what is `more` than that is left to be said.
    """

    kind: str
    of: str
    text: str
    cut: str = ""
    gist: str = ""
    more: str = ""

    @property
    def name(self) -> str:
        """The kind, and the subject in brackets."""
        return f"{self.kind} ({self.of})" if self.of else self.kind

    def __str__(self) -> str:
        if self.kind in {"output", "partial answer"}:
            return f"{self.kind} ({self.of}{self.cut}):{unforged(f'{NEW_LINE}{self.text}')}"
        return f"{self.name}: {unforged(self.text)}"


def model_text(reply: ReplyLines, *, output_max_chars: int, ignored: Iterable[str] = ()) -> str:
    """Return the tree, notes, and what the tree cannot hold whole: answers (up to the cap), errors, partial work.

    Nothing is said twice: an answer of one line is in the tree only, and of a longer one the tree says where it is.
    """
    draw = partial(entry_of, expanded=False, output_max_chars=output_max_chars)
    entries: list[TreeEntry] = []
    blocks: list[str] = []
    for line in reply.lines:
        shown, rest = _divided(entry_of_line(line, draw), _below(line, output_max_chars))
        entries.append(shown)
        blocks += map(str, rest)
    tree = drawn(reply, entries, limits=collapsed(), width=WIDTH)
    notes = "\n".join([*_notes(reply), *map("note: {}".format, ignored)])
    return "\n\n".join([tree, *([notes] if notes else []), *blocks])


def task_text(task: Task, *, output_max_chars: int) -> str:
    """Return the text of one task, as the call that started it would have returned it."""
    line = TaskLine(task=task, status=task.status)
    return model_text(
        ReplyLines(op="start", backend=task.assignment.backend, lines=(line,)), output_max_chars=output_max_chars
    )


def unforged(text: str) -> str:
    """Put `>` before each further line that is written like one of ours: a model could not tell them apart.

    The details have an answer as it is.
    """
    return _LIKE_OURS.sub(lambda end: f"{end[0]}> ", text)


def _divided(entry: TreeEntry, below: list[Block]) -> tuple[TreeEntry, list[Block]]:
    """Divide an entry: return the part that the tree shows, and the blocks below it."""
    rest: list[Block] = []
    for block in below:
        is_told = block.gist in (entry.title, entry.result) and cells(block.gist) <= WIDTH - PREFIX
        if is_told and block.more:
            rest.append(Block("advice", block.of, block.more))
        elif not is_told:
            rest.append(block)
            if block.kind == "output" or entry.result == block.gist:
                entry = entry._replace(result=f"see {block.name}")
    return entry, rest


def _below(line: TaskLine | ErrorLine, output_max_chars: int) -> list[Block]:
    """Return the blocks of a line."""
    if not isinstance(line, TaskLine):
        return [_of_error(line.error, line.subject)]
    task = line.task
    if not task.is_terminal:
        return []
    error = [] if task.error is None else [_of_error(task.error, task.id)]
    answer = cut_answer(task, output_max_chars)
    return [*error, *([_of_answer(answer, task.id)] if answer.whole else [])]


def _of_error(error: OhmError, of: str) -> Block:
    return Block("error", of, str(error), gist=error.message, more=error.advice)


def _of_answer(answer: CutAnswer, of: str) -> Block:
    kind = "partial answer" if answer.is_partial else "output"
    if answer.is_truncated:
        return Block(kind, of, answer.shown, cut=f", {answer.extent}")
    return Block(kind, of, answer.shown, gist=answer.whole.strip())


def _notes(reply: ReplyLines) -> list[str]:
    """Return the verdict and the newest diagnostics of each task, one line each; all of them are in `details`."""
    notes: list[str] = []
    for task in reply.tasks:
        if task.is_terminal and (verified := verified_line(task)):
            notes.append(f"verified ({task.id}): {unforged(verified)}")
        if not task.diagnostics:
            continue
        hidden = len(task.diagnostics) - MOST_NOTES
        if hidden > 0:
            notes.append(f"note ({task.id}): {hidden} earlier notes are left out.")
        newest = task.diagnostics[-MOST_NOTES:]
        notes += [f"note ({task.id}): {unforged(truncate(str(each), NOTE_MAX_CHARS).text)}" for each in newest]
    return notes
