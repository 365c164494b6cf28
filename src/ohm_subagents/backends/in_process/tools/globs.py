"""File name patterns: `*.py`, `src/**/*.{ts,tsx}`. One meaning for grep and find, whatever lists the files.

A pattern is the model's, and a name may be hostile: matching takes at most their two lengths multiplied.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from ohm_subagents.backends.in_process.tools.failure import fail

Wanted = Callable[[str], bool]

_TOKEN: Final = re.compile(
    r"(?P<stars>\*+)|(?P<any>\?)|(?P<set>\[[!^]?\]?[^\]]*\])|\\(?P<escaped>.)|(?P<char>.)", re.DOTALL
)
_MAX_CHARS: Final = 1000
_MAX_EXPANDED_CHARS: Final = 20_000  # of a pattern with its braces multiplied out
_ANY_DIRECTORIES: Final = "**"


def everything(_path: str) -> bool:
    """Return the pattern that leaves nothing out."""
    return True


@lru_cache(maxsize=64)
def glob(pattern: str) -> Wanted:
    """A test for paths relative to where the search starts. Building it may take a while: call it in a worker thread.

    Without a slash the pattern is held against the file's name at any depth, with one against the whole path.
    `*` and `?` stop at a slash, `**/` stands for any directories, `[a-z]` `[!a]` `{a,b}` are as in a shell.
    """
    tests = [plain_glob(alternative.removeprefix("./"), rooted="/" in alternative) for alternative in _expand(pattern)]

    def matches(path: str) -> bool:
        return any(test(path) for test in tests)

    return tests[0] if len(tests) == 1 else matches


def plain_glob(pattern: str, *, rooted: bool) -> Wanted:
    """Return the same without braces; `rooted` says what to hold it against."""
    if not rooted:
        name = _segment(pattern)
        return lambda path: name.fullmatch(path.rpartition("/")[2]) is not None
    texts = pattern.strip("/").split("/")
    if texts[-1] == _ANY_DIRECTORIES:
        texts.append("*")  # everything below, but not the directory itself
    parts = [None if text == _ANY_DIRECTORIES else _segment(text) for text in texts]
    return lambda path: _matches(parts, path.split("/"))


def _matches(parts: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Return True if the parts cover the names; `None` stands for any number of names.

    Going back to the last `None` is enough: whatever an earlier one could do with more names, the last can do too.
    """
    part = name = 0
    resume: tuple[int, int] | None = None
    while name < len(names):
        wanted = parts[part] if part < len(parts) else ...
        if wanted is None:
            part += 1
            resume = (part, name)
        elif wanted is not ... and wanted.fullmatch(names[name]):
            part += 1
            name += 1
        elif resume is None:
            return False
        else:
            resume = (resume[0], resume[1] + 1)
            part, name = resume
    return all(rest is None for rest in parts[part:])


@lru_cache(maxsize=1024)
def _segment(pattern: str) -> re.Pattern[str]:
    """A pattern without slashes as an expression that never goes back: what follows a star is taken where it is first.

    That is enough because everything between two stars has one length; only the last star takes as much as it can.
    """
    pieces = [""]
    for token in _TOKEN.finditer(pattern):
        kind, text = token.lastgroup, token.group()
        if kind == "stars":
            pieces.append("")
        else:
            pieces[-1] += _one(kind, text, token["escaped"])
    first, *others = pieces
    if not others:
        return re.compile(first, re.DOTALL)
    middle = "".join(f"(?>[^/]*?{piece})" for piece in others[:-1] if piece)
    return re.compile(f"{first}{middle}[^/]*{others[-1]}", re.DOTALL)


def _one(kind: str | None, text: str, escaped: str) -> str:
    """Return the expression for one character of a name."""
    match kind:
        case "any":
            return "[^/]"
        case "set":
            return _set(text) if _is_set_valid(text) else re.escape(text)
        case "escaped":
            return re.escape(escaped)
        case _:
            return re.escape(text)


def _expand(pattern: str) -> list[str]:
    """Return a pattern as patterns without braces; an unclosed brace matches itself."""
    waiting, seen, done = [pattern[:_MAX_CHARS]], set[str](), list[str]()
    room = _MAX_EXPANDED_CHARS
    while waiting:
        text = waiting.pop()
        if text in seen:
            continue
        seen.add(text)
        room -= len(text)
        if room < 0:
            fail("The glob pattern has too many alternatives in braces: search for fewer of them at a time.")
        cuts = _innermost_brace(text)
        if not cuts:
            done.append(text)
        for before, after in pairwise(cuts):
            waiting.append(text[: cuts[0]] + text[before + 1 : after] + text[cuts[-1] + 1 :])
    return done


def _innermost_brace(text: str) -> list[int]:
    """Return the positions of the first closed pair of braces and of the commas between them."""
    opened: list[list[int]] = []
    for at, char in enumerate(text):
        if char == "{":
            opened.append([at])
        elif char == "," and opened:
            opened[-1].append(at)
        elif char == "}" and opened:
            return [*opened[-1], at]
    return []


def _set(text: str) -> str:
    inner = text[1:-1]
    negated = inner[:1] in {"!", "^"}
    body = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[1:] if negated else inner)
    return f"(?!/)[{'^' if negated else ''}{body}]"


def _is_set_valid(text: str) -> bool:
    """Return True if the set compiles; `[z-a]` does not, and then matches itself."""
    try:
        re.compile(_set(text))
    except re.error:
        return False
    return True
