"""File name patterns: `*.py`, `src/**/*.{ts,tsx}`. One meaning for grep and find, whatever lists the files."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

Wanted = Callable[[str], bool]

_TOKEN: Final = re.compile(
    r"(?P<any_dirs>(?:^|(?<=/))\*\*/)|(?P<all>\*\*)|(?P<set>\[[!^]?\]?[^\]]*\])|(?P<char>.)", re.DOTALL
)
_MAX_CHARS: Final = 1000


def everything(_path: str) -> bool:
    """The pattern that leaves nothing out."""
    return True


@lru_cache(maxsize=64)
def glob(pattern: str) -> Wanted:
    """A test for paths relative to where the search starts.

    Without a slash the pattern is held against the file's name at any depth, with one against the whole path.
    `*` and `?` stop at a slash, `**/` stands for any directories, `[a-z]` `[!a]` `{a,b}` are as in a shell.
    """
    wanted = pattern[:_MAX_CHARS].removeprefix("./")
    is_rooted = "/" in wanted
    expression = re.compile(_translate(wanted.lstrip("/")), re.DOTALL)

    def matches(path: str) -> bool:
        return expression.fullmatch(path if is_rooted else path.rpartition("/")[2]) is not None

    return matches


def _translate(pattern: str) -> str:
    """The same pattern as a regular expression; an unclosed brace or bracket stands for itself."""
    depth = 0
    closable = _closed_braces(pattern)
    parts: list[str] = []
    for token in _TOKEN.finditer(pattern):
        char = token.group()
        match token.lastgroup, char:
            case "any_dirs", _:
                parts.append("(?:[^/]+/)*")
            case "all", _:
                parts.append(".*")
            case "set", _ if _is_range_valid(char):
                parts.append(_set(char))
            case _, "*":
                parts.append("[^/]*")
            case _, "?":
                parts.append("[^/]")
            case _, "{" if token.start() in closable:
                depth += 1
                parts.append("(?:")
            case _, "}" if depth:
                depth -= 1
                parts.append(")")
            case _, "," if depth:
                parts.append("|")
            case _:
                parts.append(re.escape(char))
    return "".join(parts)


def _closed_braces(pattern: str) -> frozenset[int]:
    """Where the opening braces stand that have a partner."""
    opened: list[int] = []
    closed: set[int] = set()
    for index, char in enumerate(pattern):
        if char == "{":
            opened.append(index)
        elif char == "}" and opened:
            closed.add(opened.pop())
    return frozenset(closed)


def _set(text: str) -> str:
    inner = text[1:-1]
    negated = inner[:1] in {"!", "^"}
    body = (inner[1:] if negated else inner).replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
    return f"(?!/)[{'^' if negated else ''}{body.replace('^', chr(92) + '^').replace('&&', chr(92) + '&&')}]"


def _is_range_valid(text: str) -> bool:
    """Whether the set compiles; `[z-a]` does not, and then stands for itself."""
    try:
        re.compile(_set(text))
    except re.error:
        return False
    return True
