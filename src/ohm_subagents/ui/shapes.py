"""The parts of the JSON that the page is drawn from: rows, facts, spans, requests and entries.

Times are epoch milliseconds. A cost is a decimal number as a text, None where nothing was priced. Texts are plain, with
nothing in them that could drive a screen; only `html` is markup, and it is made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from ohm_subagents.contract.requests import RequestKind
    from ohm_subagents.contract.task import Status

SpanKind = Literal["queued", "run", "model", "tool", "wait", "guard"]
SpanStatus = Literal["running", "done", "failed", "cancelled", "warning"]
EntryStatus = Literal[SpanStatus, "asking"]
EntryKind = Literal["prompt", "answer", "thinking", "tool", "request", "guard", "note", "end"]


class Used(TypedDict):
    """The usage of one or several tasks."""

    requests: int
    """Requests to models."""
    input_tokens: int
    """Input tokens, those of the cache among them."""
    output_tokens: int
    """Output tokens."""
    cached_tokens: int
    """Input tokens that were read from a provider's cache."""
    tool_calls: int
    """Tool calls."""
    cost_usd: str | None
    """US dollars."""
    tokens: str
    """The number of tokens in words, input and output together; empty for none."""
    cost: str
    """The cost in words, say `$0.0031`, or `unpriced`; empty where no model was asked."""
    text: str
    """All of it in words, say `2 requests · 812 tokens in (0 cached), 40 out · $0.0031`; empty if nothing was used."""


class Named(TypedDict):
    """The fixed part of a row: which task it is, and whose."""

    id: str
    """The id of the task."""
    title: str
    """`<Profile> · <description>`."""
    profile: str
    """The id of the profile."""
    description: str
    """The title of the task, in a few words."""
    status: Status
    """The status: queued, running, succeeded, failed or cancelled."""
    icon: str
    """One character for the status, as terminals show it."""
    session: str
    """The session of the task."""
    parent: str | None
    """The task whose subagent started this one."""
    call: str | None
    """The call of a program that started the task."""
    model: str | None
    """`<provider>/<model>`; None while it is not known."""


class Work(TypedDict):
    """The part of a row that tells how a task gets on."""

    asks: int
    """The number of its requests that wait for an answer."""
    error: str
    """The reason of its failure, in one line; empty unless it failed."""
    last: str
    """One line: what it asks, its newest tool call, or the end of what it says; what it waits for, while it is stuck,
    queued, or waits for tasks of its own; of one that has succeeded the first paragraph of its answer, of one
    that was cancelled how far it came, of a failed one its summary."""
    progress_ms: int | None
    """The time of its newest progress, or of its start; None unless it runs and waits neither for a slot nor for a task
    of its own. One whose progress is long ago is stuck."""
    continues: str | None
    """The settled task that it goes on with; None for one that has begun anew."""
    follow_up: str
    """Of one that goes on with another, the beginning of its prompt, in one line; else empty."""
    waits_below: bool
    """True for a task that does nothing until tasks of its own have settled."""
    is_stuck: bool
    """True for a task that runs, waits for no answer and for no task of its own, and has made no progress for 30 s."""


class Row(Named, Work):
    """A task in a list."""

    where: str
    """The process that runs it, say `pid 123`; empty for a settled one."""
    created_ms: int
    """The time of admission."""
    started_ms: int | None
    """The start of the first run."""
    ended_ms: int | None
    """The time at which the task settled."""
    elapsed_ms: int
    """The time that it has worked, or waited, when this was answered."""
    used: Used
    """The usage of the task itself."""
    tree: Used
    """The usage of the task and of all tasks below it."""
    depth: int
    """The number of kept tasks that it is below."""
    below: int
    """The number of tasks below it, at any depth."""
    open_below: int
    """The number of those that wait or run."""


class TreeRow(Row):
    """A task in the tree of one start."""

    children: int
    """The number of tasks that it has started."""


class Fact(TypedDict):
    """A fact of a task, as `ohm task` prints it."""

    label: str
    """The name of the fact."""
    text: str
    """The fact, in one line or several."""


class Failure(TypedDict):
    """The reason of a failure."""

    code: str
    """The code of the error."""
    message: str
    """The fact, in one sentence."""
    advice: str
    """The way out; or empty."""


class Detail(Row):
    """A task with all that is known of it but its transcript."""

    prompt_html: str
    """The first prompt, as safe markup."""
    output_html: str
    """The answer, or what it said so far, as safe markup."""
    summary: str
    """One line for people."""
    facts: list[Fact]
    """Every other fact, in order."""
    files: list[str]
    """The files that it has changed."""
    failure: Failure | None
    """The reason of a failure; None unless the task failed."""
    origin: str
    """The title of the task that it goes on with; empty if there is none, or it is kept no more."""
    can_cancel: bool
    """True while the task can be cancelled."""
    can_land: bool
    """True while changes that it has made apart have neither landed nor been discarded."""
    can_send: bool
    """True if a follow-up is taken, now or in a task that goes on with its session."""


class Span(TypedDict):
    """A piece of the timeline."""

    id: str
    """The id of the span, the same each time."""
    task: str
    """The task that it belongs to."""
    kind: SpanKind
    """queued, run, model (a model request), tool (a tool call), wait (for a slot or an answer), or guard."""
    label: str
    """One line about it, in words."""
    start_ms: int
    """The beginning."""
    end_ms: int | None
    """The end; None while it goes on. A guard is a point in time: both are the same."""
    status: SpanStatus
    """running, done, failed, cancelled, or warning (a guard that warned)."""


class Asked(TypedDict):
    """A request of a subagent that waits for an answer."""

    id: str
    """The id of the request."""
    task: str
    """The task whose subagent asks."""
    profile: str
    """The id of the profile of that subagent."""
    kind: RequestKind
    """`tool` wants a call to be approved, `question` wants an answer."""
    tool: str
    """The tool that is to be called."""
    title: str
    """The call in words, never JSON, or the question."""
    subject: str
    """The subject of the call, such as a command or a file; empty for a question."""
    diff: list[str]
    """The beginning of the change of a file that the call makes, as in an `Entry`; empty for none."""
    arguments: str
    """All of the call: each argument on a line or more, with its name, and the change of a file."""
    question: str
    """The question, of a request of kind `question`."""
    options: list[str]
    """The answers that the subagent proposes."""
    reason: str
    """The rule that asks."""
    asked_ms: int
    """The time at which it was asked."""
    expires_ms: int | None
    """The time at which it is denied; None for never."""


class Entry(TypedDict):
    """A piece of a transcript."""

    id: int
    """The place of the entry, from 0 on; an entry with an id that was there before takes its place."""
    seq: int
    """The number of its newest change; ask for those after the highest one that is known."""
    at_ms: int
    """The time of its beginning."""
    kind: EntryKind
    """prompt (also a follow-up), answer (each text of the model), thinking, tool, request, guard, note, or end (of a
    run)."""
    title: str
    """One line in words, such as `read src/app.py:1-40`; of a text of the model `answer` if it ended a run, else
    `said`."""
    html: str | None
    """The text as safe markup, where it is Markdown: of a prompt and an answer."""
    text: str | None
    """The text, where it is plain: of anything else."""
    diff: list[str] | None
    """The change of a file that a tool call makes: lines that begin with `+`, `-` or a blank."""
    status: EntryStatus
    """running, asking (a call that waits for an answer, or what it asks), done, failed, cancelled or warning."""
    took_ms: int | None
    """The time that a tool call took; None for anything else, and while it goes on."""
