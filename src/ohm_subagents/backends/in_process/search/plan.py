"""The next step of `local/search`, a pure function of the messages: search, read the best place, answer."""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic_ai.messages import (
    ModelMessage,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ohm_subagents.backends.in_process.providers import EXAMPLE_KEY, EXAMPLE_MODEL

SEARCH: Final = "code_search"
READ: Final = "read"

_SHOWN: Final = 3
_READ_LINES: Final = 12
_QUERY_CHARS: Final = 2000
_HONEST: Final = (
    "This is keyword search (local/search), not a language model: it ranks code by the words of the question."
)
ADVICE: Final = (
    "For a model that reasons, set OHM_MODEL, or subagents.model in ohm.json, for example to "
    f"{EXAMPLE_MODEL}, with {EXAMPLE_KEY} in the environment."
)
"""The way to a model, where nothing of one is there."""
_CANNOT: Final = "It only finds places, for questions of where, which or how; it cannot explain, plan or edit."
_FINDING: Final = re.compile(r"\b(where|which|how)\b", re.IGNORECASE)
_PLACE: Final = re.compile(r"^\d+\. (?P<path>.+?):(?P<start>\d+)-(?P<end>\d+)  (?P<title>.*)$")
_SNIPPET: Final = re.compile(r"^   (?P<line>\d+): (?P<text>.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A tool call to make."""

    id: str
    tool: str
    arguments: dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Answer:
    """The final text."""

    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why there is no answer, in a sentence."""

    why: str


Step: TypeAlias = PlannedCall | Answer | Failure


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    start: int
    end: int
    title: str
    snippet: tuple[tuple[int, str], ...]


def next_step(messages: Sequence[ModelMessage], tools: AbstractSet[str], *, advice: str = ADVICE) -> Step:
    """Return the step after the newest question in `messages`, given the names of the tools on offer.

    An answer has the `advice` on how to get a model, if there is one, and always says what was not searched.
    """
    question, results = _since_question(messages)
    if SEARCH not in tools:
        return Failure(f"The tool {SEARCH} was not given to this subagent.")
    found = results.get(SEARCH)
    if found is None:
        arguments: dict[str, str | int] = {"query": question[:_QUERY_CHARS] or "?", "limit": _SHOWN}
        return PlannedCall(id=f"{SEARCH}-{len(messages)}", tool=SEARCH, arguments=arguments)
    if not found.is_ok:
        return Failure(found.text.strip())
    places = list(_places(found.text))[:_SHOWN]
    closing = _closing(found.text, question, advice)
    if not places:
        return Answer(f"I found no place whose words match the question.{closing}")
    read = results.get(READ)
    if read is None and READ in tools:
        return PlannedCall(id=f"{READ}-{len(messages)}", tool=READ, arguments=_excerpt_of(places[0]))
    return Answer(f"{_listing(places, read)}{closing}")


@dataclass(frozen=True, slots=True)
class _Result:
    text: str
    is_ok: bool


_UNANSWERED: Final = _Result(f"The tool {SEARCH} gave no answer.", is_ok=False)


def _since_question(messages: Sequence[ModelMessage]) -> tuple[str, dict[str, _Result]]:
    """Return the newest question, and what each tool has answered since."""
    question = ""
    results: dict[str, _Result] = {}
    for part in (part for message in messages for part in message.parts):
        match part:
            case UserPromptPart():
                question = _text(part)
                results = {}
            case ToolCallPart():
                results[part.tool_name] = _UNANSWERED
            case ToolReturnPart():
                results[part.tool_name] = _Result(
                    part.model_response_str(wrap_if_error=False), part.outcome == "success"
                )
            case _:
                pass
    return question, results


def _text(part: UserPromptPart) -> str:
    content = [part.content] if isinstance(part.content, str) else part.content
    return "\n".join(item for item in content if isinstance(item, str)).strip()


def _places(report: str) -> Iterator[_Place]:
    """Yield the places in a report of `code_search`."""
    heads: list[tuple[re.Match[str], list[tuple[int, str]]]] = []
    for row in report.splitlines():
        if head := _PLACE.match(row):
            heads.append((head, []))
        elif heads and (line := _SNIPPET.match(row)):
            heads[-1][1].append((int(line["line"]), line["text"]))
    for head, snippet in heads:
        yield _Place(head["path"], int(head["start"]), int(head["end"]), head["title"], tuple(snippet))


def _excerpt_of(place: _Place) -> dict[str, str | int]:
    offset, limit = _window(place)
    return {"path": place.path, "offset": offset, "limit": limit}


def _window(place: _Place) -> tuple[int, int]:
    """Choose the lines to show of a place: all of a short one, of a long one the lines from the first that matches."""
    lines = place.end - place.start + 1
    first = place.snippet[0][0] if lines > _READ_LINES and place.snippet else place.start
    return first, min(place.end - first + 1, _READ_LINES)


def _listing(places: Sequence[_Place], read: _Result | None) -> str:
    count = "The best match:" if len(places) == 1 else f"The {len(places)} best matches, best first:"
    rows = [count]
    for rank, place in enumerate(places, start=1):
        rows += ["", f"{rank}. {place.path}:{place.start}-{place.end}  {place.title}"]
        snippet = place.snippet
        if rank == 1 and read is not None and read.is_ok:
            snippet = _with_context(place, read.text)
        rows += [f"   {number:>5} | {text}".rstrip() for number, text in snippet]
    return "\n".join(rows)


def _with_context(place: _Place, text: str) -> tuple[tuple[int, str], ...]:
    """Return the lines that match, and those that `read` gave, without its note."""
    offset, limit = _window(place)
    return tuple(sorted((dict(place.snippet) | dict(enumerate(text.split("\n")[:limit], start=offset))).items()))


def _closing(report: str, question: str, advice: str) -> str:
    """Return the end of an answer: what was not searched, and what `local/search` is."""
    gaps = [row for row in report.splitlines() if row.startswith("[") and not row.startswith("[No place")]
    told = [_HONEST, *([advice] if advice else []), *([] if _FINDING.search(question) else [_CANNOT])]
    return "".join(f"\n\n{part}" for part in (*gaps, "\n".join(told))) + "\n"
