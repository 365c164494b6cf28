"""Tool calls in words: the subject of each, and the change of a file; pure, for our tools and those of other agents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from pydantic import JsonValue  # noqa: TC002  the types of a public record are read at run time

from ohm_subagents._records import dataclass
from ohm_subagents._views.cells import one_line
from ohm_subagents._views.messages import arguments_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CallKind: TypeAlias = Literal["read", "edit", "search", "execute", "fetch", "think", "other"]
MAX_SUBJECT: Final = 500
"""The most characters of one argument in a subject: a row has room for less."""
_MOST_CHANGED: Final = 20_000
"""The most characters of a change that are compared."""
_KINDS: Final[Mapping[str, CallKind]] = MappingProxyType(
    {
        **dict.fromkeys(("read", "read_file", "readfile", "notebookread", "view"), "read"),
        **dict.fromkeys(("edit", "multiedit", "notebookedit", "write", "write_file", "replace", "apply_patch"), "edit"),
        **dict.fromkeys(
            ("grep", "glob", "find", "ls", "list", "code_search", "grep_search", "list_directory"), "search"
        ),
        **dict.fromkeys(("bash", "shell", "exec_command", "run_shell_command"), "execute"),
        **dict.fromkeys(("webfetch", "web_fetch", "websearch", "web_search", "google_web_search"), "fetch"),
        **dict.fromkeys(
            ("write_todos", "edit_todos", "list_todos", "todowrite", "todoread", "subagent_finalize"), "think"
        ),
    }
)
_SUBJECTS: Final = ("command", "pattern", "query", "url", "description")
_PATHS: Final = ("path", "file_path", "filePath", "filename", "notebook_path")
_OLD: Final = ("oldText", "old_text", "old_string", "oldString")
_NEW: Final = ("newText", "new_text", "new_string", "newString", "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One piece of a file, before and after."""

    old: str | None
    """The text that is replaced; None where only the new one is known."""
    new: str
    """The text in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCall:
    """A call of a tool, by its name and its arguments."""

    tool: str
    """The name of the tool."""
    text: str
    """The arguments as the text that they came as."""
    arguments: Mapping[str, JsonValue]
    """The arguments, empty where the text is no JSON object."""

    @property
    def kind(self) -> CallKind:
        """The kind of the tool, by its name."""
        return _KINDS.get(self.tool.casefold(), "other")

    @property
    def path(self) -> str | None:
        """The file or directory that it is about, as it was written."""
        return _first(self.arguments, _PATHS)

    @property
    def line(self) -> int | None:
        """The line of the file at which it begins, where it says one."""
        said = next((self.arguments[key] for key in ("line", "offset") if key in self.arguments), None)
        return said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else None

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The changes of the file, as far as the arguments tell them."""
        if self.kind != "edit" or self.path is None:
            return ()
        edits = self.arguments.get("edits")
        pieces = [one for one in edits if isinstance(one, dict)] if isinstance(edits, list) else [self.arguments]
        found = [(_first(one, _OLD), _first(one, _NEW)) for one in pieces]
        return tuple(FileChange(old=old, new=new) for old, new in found if new is not None)

    def subject(self, cwd: str = "") -> str:
        """Return what the call is about, on one line: never JSON. A path below `cwd` is relative to it."""
        path = "" if self.path is None else _below(one_line(self.path[:MAX_SUBJECT]), cwd)
        match self.kind:
            case "read" if path:
                return path + _span(self.line, self.arguments.get("limit"))
            case "edit" if path:
                return f"{path}{_counts(self.changes)}"
            case "search":
                wanted = _short(_first(self.arguments, ("pattern", "query")))
                return f"{wanted} in {path}" if wanted and path else wanted or path or self._named(cwd)
            case _:
                return _short(_first(self.arguments, _SUBJECTS)) or path or self._named(cwd)

    def _named(self, cwd: str) -> str:
        """Return arguments that are not known by name."""
        if not self.arguments:
            return "" if self.text.lstrip()[:1] in {"{", "["} else _short(self.text)
        plain = (
            f"{one_line(name)}: {_below(_short(value), cwd) if isinstance(value, str) else value}"
            for name, value in self.arguments.items()
            if isinstance(value, str | int | float)
        )
        return ", ".join(plain)[:MAX_SUBJECT]


@lru_cache(maxsize=512)
def named_call(tool: str, text: str) -> NamedCall:
    """Return a call of a tool by the text of its arguments, which is read as JSON."""
    return NamedCall(tool=tool, text=text, arguments=arguments_in(text))


@lru_cache(maxsize=512)
def call_subject(tool: str, text: str, cwd: str = "") -> str:
    """Return what a call is about, on one line: see `NamedCall.subject`."""
    return named_call(tool, text).subject(cwd)


@lru_cache(maxsize=128)
def changed_lines(tool: str, text: str) -> tuple[str, ...]:
    """Return the lines of the change that a call makes: those that go (`-`), come (`+`), and stay (a space).

    Of a long change its first lines, cut where they are longer than a terminal is wide.
    """
    return tuple(line[:MAX_SUBJECT] for change in named_call(tool, text).changes for line in _diff(change))


def untold_lines(call: NamedCall, cwd: str = "") -> Iterator[str]:
    """Yield what a call says beside its subject, whole: the change of a file (see `changed_lines`), and arguments."""
    drawn, arguments = _drawn(call)
    yield from drawn
    subject = call.subject(cwd)
    if not arguments and not call.arguments and call.text.strip() not in {"", "{}", subject}:
        yield call.text.strip()
    for name, value in _flat("", arguments):
        is_span = call.kind == "read" and name in {"line", "offset", "limit"}
        is_told = "\n" not in value.strip() and _below(one_line(value), cwd) in subject
        if not is_told and not is_span:
            yield f"{one_line(name)}: {value}"


def argument_lines(call: NamedCall) -> Iterator[str]:
    """Yield all of a call, whole: each argument with its name, and the change of a file as a diff.

    Whoever judges a call has to see all of it: a diff that leaves out anything is none.
    """
    if not call.arguments and call.text.strip() not in {"", "{}"}:
        yield call.text.strip()
    drawn, arguments = _drawn(call)
    yield from (f"{one_line(name)}: {value}" for name, value in _flat("", arguments))
    yield from drawn


def _drawn(call: NamedCall) -> tuple[tuple[str, ...], Mapping[str, JsonValue]]:
    """Return the change of a file that a call makes, if its lines tell all of it, and the other arguments."""
    drawn, edits = changed_lines(call.tool, call.text), call.arguments.get("edits")
    is_cut = len(call.text) > _MOST_CHANGED or any(len(line) == MAX_SUBJECT for line in drawn)
    if not drawn or is_cut or not all(map(_is_in_lines, call.changes)):
        return (), call.arguments
    told = {"edits"} if isinstance(edits, list) else {*_OLD, *_NEW} & {*call.arguments}
    pieces = edits if isinstance(edits, list) else [{name: call.arguments[name] for name in told}]
    if len(pieces) != len(call.changes) or not all(map(_is_all_told, pieces, call.changes)):
        return (), call.arguments
    return drawn, {name: value for name, value in call.arguments.items() if name not in told}


def _is_all_told(piece: object, change: FileChange) -> bool:
    """Return True if a piece of a change has no text but those of the change."""
    return isinstance(piece, Mapping) and len(cast("Mapping[str, JsonValue]", piece)) == 1 + (change.old is not None)


def _is_in_lines(change: FileChange) -> bool:
    """Return True if the lines of a change tell all of it: no line ends in another way, and the last one as before."""
    texts = [change.new] if change.old is None else [change.old, change.new]
    plain = all("\n".join(text.splitlines()) == text.removesuffix("\n") for text in texts)
    return plain and len({text[-1:] == "\n" for text in texts}) == 1


def _flat(name: str, value: JsonValue | Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    """Yield each plain value with its way to it, as `edits.0.path`."""
    if isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, one in items:
            yield from _flat(f"{name}.{key}" if name else f"{key}", one)
    elif value is not None:
        yield name, str(value).lower() if isinstance(value, bool) else f"{value}"


def _diff(change: FileChange) -> Iterator[str]:
    new = change.new[:_MOST_CHANGED].splitlines()
    if change.old is None:
        yield from (f"+ {line}" for line in new)
        return
    from difflib import unified_diff  # noqa: PLC0415  only the change of a file needs it

    old = change.old[:_MOST_CHANGED].splitlines()
    for number, line in enumerate(unified_diff(old, new, n=1, lineterm="")):
        if number > 1 and not line.startswith("@@"):  # the first two are names of files
            yield f"{line[0]} {line[1:]}"


def _counts(changes: Sequence[FileChange]) -> str:
    counts = [_counted(one) for one in changes]
    added, removed = (sum(numbers) for numbers in zip(*counts, strict=True)) if counts else (0, 0)
    return (f" +{added}" if added else "") + (f" -{removed}" if removed else "")


def _counted(change: FileChange) -> tuple[int, int]:
    """Return how many lines come and go: of a long change, all from the first that differs to the last."""
    old, new = (change.old or "").splitlines(), change.new.splitlines()
    if max(len(change.old or ""), len(change.new)) <= _MOST_CHANGED:
        marks = [line[:1] for line in _diff(change)]
        return marks.count("+"), marks.count("-")
    before = _same(old, new)
    after = _same(old[before:][::-1], new[before:][::-1])
    return len(new) - before - after, len(old) - before - after


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """Return with how many lines both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _span(first: int | None, count: JsonValue) -> str:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return "" if first is None else f":{first}"
    return f":{first or 1}-{(first or 1) + count - 1}"


def _below(path: str, cwd: str) -> str:
    inside = f"{cwd.rstrip('/')}/"
    return path.removeprefix(inside) or "." if cwd and path.startswith(inside) else path


def _short(text: str | None) -> str:
    return "" if text is None else one_line(text[:MAX_SUBJECT])


def _first(arguments: Mapping[str, JsonValue], names: Sequence[str]) -> str | None:
    return next((value for name in names if isinstance(value := arguments.get(name), str)), None)
