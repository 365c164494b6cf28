"""The text of a reply for a calling model, with each answer in a frame that says it is data: `modelText: "framed"`."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.answer import cut_answer
from ohm_subagents._views.cells import one_line
from ohm_subagents._views.reply_lines import TaskLine
from ohm_subagents._views.task_texts import tool_rows
from ohm_subagents._views.verification import verified_line
from ohm_subagents.contract.truncation import truncate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ohm_subagents._views.answer import CutAnswer
    from ohm_subagents._views.reply_lines import ErrorLine, ReplyLines
    from ohm_subagents.contract.task import Task

READ_RESULT: Final = "read_result"
MOST_ROWS: Final = 10
"""The tool rows of a task that ended without an answer, the newest."""
MOST_NOTES: Final = 10
ROW_MAX_CHARS: Final = 500
_TAG: Final = re.compile(
    r"<(?=\s*[/|]?\s*(?:task_output|task_partial|system|assistant|user|human|developer|instructions?|function|tool"
    r"|invoke|parameter|antml|(?:start|end)_of_turn|im_start|im_end|eot_id|endoftext)(?![a-z])|<\s*/?\s*SYS|\|)"
    r"|\[(?=\s*/?\s*INST\s*\])",
    re.IGNORECASE,
)
"""The bracket of a tag of ours, of a chat template or of a tool call."""
_ROLE: Final = re.compile(
    r"(?:^|(?<=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]))"
    r"(?=[^\S\n]*(?:#+[^\S\n]*)?(?:human|assistant|system|user|developer|tool)[^\S\n]*:)",
    re.IGNORECASE,
)
"""The beginning of a line that names the speaker of a turn."""
_ENTITIES: Final = {"<": "&lt;", "[": "&#91;"}


def framed_text(reply: ReplyLines, *, output_max_chars: int, ignored: Iterable[str] = ()) -> str:
    """Return a head for each task, its answer in a frame (up to the cap), errors, partial work and notes.

    Nothing is said twice, and nothing is drawn.
    """
    parts = [part for line in reply.lines for part in _parts(line, output_max_chars)]
    notes = [f"note: {_inline(each)}" for each in ignored]
    return "\n".join([*parts, *notes, *([reply.footer] if reply.footer else [])])


def framed(answer: CutAnswer, task_id: str) -> str:
    """Return what is shown of an answer in a frame, with its place in the whole answer and the digest of that.

    The digest is SHA-256 over UTF-8. Tags and role markers in the part are made harmless (`without_markers`).
    """
    tag, shown = "task_partial" if answer.is_partial else "task_output", answer.shown
    digest = sha256(answer.whole.encode("utf-8", "replace")).hexdigest()
    place = f'offset="{answer.offset}" chars="{len(shown)}" total="{len(answer.whole)}"'
    return f'<{tag} id="{escape(task_id)}" sha256="{digest}" {place}>\n{without_markers(shown)}\n</{tag}>'


def without_markers(text: str) -> str:
    """Return a text without tags of ours, of chat templates and of tool calls, and with `>` before a line of a role.

    The first bracket of such a tag becomes `&lt;` or `&#91;`.
    """
    return _ROLE.sub("> ", _TAG.sub(lambda found: _ENTITIES[found[0]], text))


def how_to_read_on(task_id: str, offset: int) -> str:
    """Say how to get the rest of an answer."""
    rest = json.dumps({"task": task_id, "offset": offset})
    part = json.dumps({"task": task_id, "pattern": "text to look for"})
    return f"The answer is cut here. For the rest call {READ_RESULT}: {rest}; for the lines with a text: {part}"


def _parts(line: TaskLine | ErrorLine, output_max_chars: int) -> Iterator[str]:
    if isinstance(line, TaskLine):
        yield from _parts_of_task(line, output_max_chars)
    else:
        subject = f" ({_inline(line.subject)})" if line.subject else ""
        yield f"error{subject}: {_inline(str(line.error))}"


def _parts_of_task(line: TaskLine, output_max_chars: int) -> Iterator[str]:
    task = line.task
    description = task.assignment.description
    title = f" · {_inline(description)}" if description else ""
    result = f": {_inline(line.result)}" if line.result else ""
    yield f"task {task.id} ({_inline(task.assignment.profile)}{title}) {line.status}{result}"
    yield from (f"note ({task.id}): {note}" for note in _notes(task))
    if not task.is_terminal:
        return
    if verified := verified_line(task):
        yield f"verified ({task.id}): {_inline(verified)}"
    if task.error is not None:
        yield f"error ({task.id}): {_inline(str(task.error))}"
    answer = cut_answer(task, output_max_chars)
    if answer.is_partial:
        yield from (f"tool ({task.id}): {_inline(row)}" for row in tool_rows(task)[-MOST_ROWS:])
    if answer.whole:
        yield framed(answer, task.id)
    if answer.is_truncated and not answer.is_partial:
        yield how_to_read_on(task.id, answer.end)


def _notes(task: Task) -> Iterator[str]:
    hidden = len(task.diagnostics) - MOST_NOTES
    if hidden > 0:
        yield f"{hidden} earlier notes are left out."
    yield from (_inline(str(each)) for each in task.diagnostics[-MOST_NOTES:])


def _inline(text: str) -> str:
    """Return a text of a child or of its caller on one line, bounded and harmless."""
    return without_markers(truncate(one_line(text), ROW_MAX_CHARS).text)
