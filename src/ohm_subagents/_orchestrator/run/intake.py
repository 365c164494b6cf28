"""The intake: events and answers of a backend are checked here, once, before any of it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, TypeVar, cast, get_args

from ohm_subagents._plugins.backends.interface import RunOutput
from ohm_subagents.contract.diagnostics import Diagnostic, Severity
from ohm_subagents.contract.errors import Category, OhmError, as_declared
from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    DiagnosticRaised,
    FileChanged,
    Finalized,
    FinalStatus,
    RunEvent,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolStatus,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.model_route import RouteResolved
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.text import encodable
from ohm_subagents.contract.truncation import shortened
from ohm_subagents.contract.usage import Usage, as_count, as_money
from ohm_subagents.contract.workspace import Landed, WorkspaceKept

NAME: Final = 200
"""Characters of the longest name that is kept whole: of a call, a tool, a model, a subject."""
SENTENCES: Final = 2000
"""Characters of the longest message, advice or summary that is kept whole."""
PATH: Final = 4096
NAMELESS: Final = "?"
CODE: Final = 100
LAST_LINE: Final = 2**31
EXIT_CODES: Final = 2**32

Record = TypeVar("Record")


class InvalidValueError(Exception):
    """A value that cannot be recorded; the message names its place and what is allowed there."""


class Seen(NamedTuple):
    """A value of a backend and its place; `redact` is applied before anything is cut or quoted."""

    value: object
    where: str
    redact: Callable[[str], str]

    def reject(self, allowed: str) -> NoReturn:
        """Raise `InvalidValueError` with what is allowed."""
        wrong = f"{self.where} is {quoted(self.value, self.redact)}, and has to be {allowed}"
        raise InvalidValueError(wrong)

    def cut(self, text: str, most: int) -> str:
        """Return the text, no longer than `most`."""
        return text if len(text) <= most else shortened(self.redact(text), most)


Check = Callable[[Seen], object]


def quoted(value: object, redact: Callable[[str], str]) -> str:
    """Return a value for a message: short and without secrets, whatever its `repr` does."""
    try:
        text = redact(encodable(repr(value)))
    except BaseException:  # noqa: BLE001  an object of a plugin may answer anything
        text = f"something of type {type(value).__name__}"
    return shortened(text, NAME)


def _text(seen: Seen, *, most: int | None = None) -> str:
    """Return a text that can be encoded."""
    value = seen.value
    if not isinstance(value, str):
        seen.reject("a text")
    text = encodable(value if type(value) is str else str.__str__(value))
    return text if most is None else seen.cut(text, most)


def _texts(seen: Seen) -> tuple[str, ...]:
    value = seen.value
    if not isinstance(value, tuple):
        seen.reject("a tuple of texts")
    return tuple(_text(seen._replace(value=one)) for one in cast("tuple[object, ...]", value))


def _name(seen: Seen) -> str:
    """Return a name; a blank one becomes `NAMELESS`."""
    name = _text(seen, most=NAME)
    return name if name.strip() else NAMELESS


def _unless_blank(seen: Seen) -> str:
    text = _text(seen, most=SENTENCES)
    return text if text.strip() else ""


def _one_of(seen: Seen, *, words: tuple[str, ...]) -> str:
    given = str.__str__(seen.value) if isinstance(seen.value, str) else None
    return given if given in words else seen.reject(f"one of {', '.join(words)}")


def _if_any(seen: Seen, *, check: Check) -> object:
    return None if seen.value is None else check(seen)


def _number(seen: Seen, *, least: int, below: int) -> int:
    if not isinstance(seen.value, int) or isinstance(seen.value, bool) or not least <= seen.value < below:
        seen.reject(f"a whole number from {least} to {below - 1}")
    return int(seen.value)


def _boolean(seen: Seen) -> bool:
    if not isinstance(seen.value, bool):
        seen.reject("True or False")
    return seen.value


def _code(seen: Seen) -> str:
    code = str.__str__(seen.value) if isinstance(seen.value, str) else ""
    if not code.strip() or not code.isprintable() or len(code) > CODE:
        seen.reject(f"a text of one line, not empty, of at most {CODE} characters")
    return as_declared(code)


def _category(seen: Seen) -> Category:
    if not isinstance(seen.value, Category):
        seen.reject("a Category")
    return seen.value


def _usage(seen: Seen) -> Usage:
    if not isinstance(seen.value, Usage):
        seen.reject("a Usage")
    if type(seen.value) is Usage and seen.value.is_sound:
        return seen.value
    values: dict[str, Any] = {field.name: getattr(seen.value, field.name) for field in fields(Usage)}
    for name, value in values.items():
        if value is not None or name != "cost_usd":
            values[name] = as_money(value) if name == "cost_usd" else as_count(value)
            if values[name] is None:
                Seen(value, f"Usage.{name}", seen.redact).reject("a number")
    return Usage(**values)


def _made(seen: Seen, *, of: type[Record], checks: Mapping[str, Check]) -> Record:
    """Return an object of exactly this class, with checked values."""
    if not isinstance(seen.value, of):
        seen.reject(f"a {of.__name__}")
    sound: dict[str, Any] = {
        name: check(Seen(getattr(seen.value, name), f"{of.__name__}.{name}", seen.redact))
        for name, check in checks.items()
    }
    return of(**sound)


_NAME: Final = partial(_text, most=NAME)
_SENTENCES: Final = partial(_text, most=SENTENCES)
_MAY_BE_TEXT: Final = partial(_if_any, check=_text)
_DIAGNOSTIC: Final = partial(
    _made,
    of=Diagnostic,
    checks={
        "subject": _NAME,
        "message": _SENTENCES,
        "advice": _SENTENCES,
        "severity": partial(_one_of, words=get_args(Severity)),
        "source": partial(_if_any, check=partial(_text, most=PATH)),
        "line": partial(_if_any, check=partial(_number, least=0, below=LAST_LINE)),
        "column": partial(_if_any, check=partial(_number, least=0, below=LAST_LINE)),
    },
)
_CALL: Final[Mapping[str, Check]] = {"call_id": _name, "tool": _name}
_ROUTE: Final = ("provider", "model", "runtime", "route", "served_model", "program", "program_version")
_EVENTS: Final[Mapping[type[RunEvent], Mapping[str, Check]]] = {
    TextDelta: {"text": _text},
    ThinkingDelta: {"text": _text},
    ToolStarted: {**_CALL, "args": _text},
    ToolUpdated: {**_CALL, "text": _text},
    ToolEnded: {**_CALL, "text": _text, "status": partial(_one_of, words=get_args(ToolStatus))},
    Finalized: {
        "status": partial(_one_of, words=get_args(FinalStatus)),
        "result": _MAY_BE_TEXT,
        "error": _MAY_BE_TEXT,
    },
    FileChanged: {"path": partial(_text, most=PATH)},
    WorkspaceKept: {
        **dict.fromkeys(("base", "ref"), partial(_text, most=PATH)),
        **dict.fromkeys(("files", "insertions", "deletions"), partial(_number, least=0, below=LAST_LINE)),
        "landed": partial(_one_of, words=get_args(Landed)),
        "conflicts": _texts,
    },
    RouteResolved: dict.fromkeys(_ROUTE, _NAME),
    UsageAdded: {"usage": _usage},
    Checkpointed: {"state": _text},
    DiagnosticRaised: {"diagnostic": _DIAGNOSTIC},
    AgentEnded: {},
}
_OUTPUT: Final[Mapping[str, Check]] = {
    "text": _text,
    "summary": _unless_blank,
    "exit_code": partial(_if_any, check=partial(_number, least=-EXIT_CODES, below=EXIT_CODES)),
}
_ERROR: Final[Mapping[str, Check]] = {
    "code": _code,
    "message": _SENTENCES,
    "advice": _SENTENCES,
    "summary": _unless_blank,
    "category": partial(_if_any, check=_category),
    "retryable": _boolean,
    "task_id": partial(_if_any, check=_NAME),
    "exit_code": _OUTPUT["exit_code"],
    "cause": _SENTENCES,
}

_STATUSES: Final = frozenset(get_args(ToolStatus))
_LONG: Final = frozenset({"text", "args", "state"})
_PLAIN: Final[Mapping[type, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    of: (
        str(of.__dataclass_fields__["kind"].default),
        tuple(one.name for one in fields(of) if one.name not in {*_LONG, "kind"}),
        tuple(one.name for one in fields(of) if one.name in _LONG),
    )
    for of in _EVENTS.keys() - {Finalized, WorkspaceKept, UsageAdded, DiagnosticRaised}
}
"""The kind, the names and the texts of the events that are all text: most of what is ever emitted."""


def checked_event(event: RunEvent, redact: Callable[[str], str]) -> RunEvent:
    """Return the event as it may be recorded; raise `InvalidValueError` for anything else."""
    plain = _PLAIN.get(type(event))
    if plain is None:
        return _checked(event, redact)
    kind, names, texts = plain
    for name in names:
        text = getattr(event, name)
        if type(text) is not str or len(text) > NAME or not (text.isascii() and (name in _ROUTE or text.strip())):
            return _checked(event, redact)
    for name in texts:
        text = getattr(event, name)
        if type(text) is not str or not (text.isascii() or _is_writable(text)):
            return _checked(event, redact)
    is_plain = event.kind == kind and (not isinstance(event, ToolEnded) or event.status in _STATUSES)
    return event if is_plain else _checked(event, redact)


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _checked(event: object, redact: Callable[[str], str]) -> RunEvent:
    for of, checks in _EVENTS.items():
        if isinstance(event, of):
            return _made(Seen(event, "Sink.emit", redact), of=of, checks=checks)
    wrong = f"Sink.emit takes a RunEvent, not {type(event).__name__}."
    raise InvalidValueError(wrong)


def checked_output(answer: object, redact: Callable[[str], str]) -> Result[RunOutput, OhmError]:
    """Return the result of a backend as it may be recorded; raise `InvalidValueError` for anything else."""
    match answer:
        case Ok(RunOutput() as output):
            return Ok(output if _is_plain(output) else _made(Seen(output, "Ok", redact), of=RunOutput, checks=_OUTPUT))
        case Err(OhmError() as error):
            return Err(bounded(error, redact))
        case _:
            wrong = f"it returned {type(answer).__name__}, not a Result of a RunOutput"
            raise InvalidValueError(wrong)


def _is_plain(output: RunOutput) -> bool:
    """Return True if it may be recorded as it is: most answers of processes and models are ASCII and nothing else."""
    text, summary = output.text, output.summary
    is_itself = type(output) is RunOutput and type(text) is type(summary) is str
    return is_itself and text.isascii() and not summary and output.exit_code is None


def bounded(error: OhmError, redact: Callable[[str], str]) -> OhmError:
    """Return the error with values of the right kinds, and sentences cut to `SENTENCES`."""
    return _made(Seen(error, "Err", redact), of=OhmError, checks=_ERROR)
