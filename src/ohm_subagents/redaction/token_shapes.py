"""Secrets that are known by what they look like, beside the table of forms: keys of services, passwords, private keys.

Every rule takes time in proportion to the text. Those for a text that breaks off take less than the whole.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

_HIDDEN: Final = "[REDACTED]"
_FLAGS: Final = re.IGNORECASE | re.ASCII
_QUOTE: Final = r"""\\{0,3}["']"""
_BREAK: Final = r"(?:\s|\\[nrt])"
_BEGIN: Final = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM: Final = (
    rf"{_BEGIN}{_BREAK}++(?:[A-Za-z-]{{1,40}}: [^\n\\]{{0,200}}+{_BREAK}++)*+(?:[A-Za-z0-9+/=]{{16,}}+{_BREAK}*+)++"
    r"(?:[A-Za-z0-9+/=\s\\]{0,40}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?+"
)
_OF_WORDS: Final = r"pass(?:word|wd|phrase)|(?<![A-Za-z])pwd"
_OF_TOKENS: Final = r"token|secret|(?:private|signing|webhook|app)[_-]?key"
"""Ends of the names that come before a token."""
_HAS_A_DIGIT: Final = r"(?=[A-Za-z_-]{{0,40}}\d)"
_ADDRESS: Final = r"([a-z][a-z0-9+.-]{0,20}://[^\s/?#@:\"'<>]{0,200}+:)"
_WORD: Final = r"[^\s\"'`\\,;(){}<>\[\]]"
"""A character of a password without quotes; text that goes on with a bracket is code."""
_MARKS: Final = (
    *("eyj", "akia", "asia", "sk-", "_live_", "_test_", "github_pat_", "glpat-", "xox", "npm_", "hf_", "aiza"),
    "pypi-",
)
"""One of these is in every token that `_SHAPES` describes, in small letters."""
_SHAPES: Final = (
    (r"eyJ[\w-]{{{0},}}+", r"\.[\w-]{{{0},}}+", r"\.[\w-]{{{0},}}+"),
    (r"(?:AKIA|ASIA)[A-Z0-9]{{{1}}}(?![A-Za-z0-9])",),
    (rf"sk-{_HAS_A_DIGIT}[\w-]{{{{{{2}},}}}}+",),
    (r"[spr]k_(?:live|test)_[A-Za-z0-9]{{{0},}}+",),
    (r"github_pat_\w{{{2},}}+",),
    (r"glpat-[\w-]{{{2},}}+",),
    (r"xox[abeoprs]-[A-Za-z0-9-]{{{0},}}+",),
    (r"npm_[A-Za-z0-9]{{{2},}}+",),
    (r"hf_[A-Za-z0-9]{{{2},}}+",),
    (r"AIza[\w-]{{{2},}}+",),
    (r"pypi-[\w-]{{{2},}}+",),
)
"""Of each the parts that it must have, with the least of: a part of a word, the digits of AWS, a long word."""


class Rule(NamedTuple):
    """A pattern and its replacement. A text that has none of `needs`, compared in lower case, cannot match."""

    pattern: re.Pattern[str]
    replacement: str
    needs: tuple[str, ...]

    def may_hold(self, lowered: str) -> bool:
        """Tell by a look that costs next to nothing whether the pattern is worth its time."""
        return any(need in lowered for need in self.needs)


def _token(*least: int) -> re.Pattern[str]:
    words = ("".join(part.format(*least) for part in parts) for parts in _SHAPES)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(words)})", re.ASCII)


def _begun_token() -> re.Pattern[str]:
    """Match what has begun; of several parts the later ones may be missing."""
    words: list[str] = []
    for first, *others in _SHAPES:
        begun = first.replace(_HAS_A_DIGIT, "").format(0, "0,16", 0)
        words.append(begun + "".join(f"(?:{part.format(0, 0, 0)})?+" for part in others))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(words)})", re.ASCII)


def _password(value: str) -> Rule:
    return _assigned(_OF_WORDS, value, ("pass", "pwd"))


def _secret(value: str) -> Rule:
    return _assigned(_OF_TOKENS, value, ("token", "secret", "key"))


def _assigned(name: str, value: str, needs: tuple[str, ...]) -> Rule:
    return Rule(re.compile(rf"({name})(?:{_QUOTE})?\s*+[:=]\s*+(?:{value})", _FLAGS), rf"\1={_HIDDEN}", needs)


def _address(password: str) -> Rule:
    return Rule(re.compile(rf"{_ADDRESS}{password}", _FLAGS), rf"\1{_HIDDEN}", ("://",))


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules, made on first use."""
    return (
        Rule(re.compile(_PEM), _HIDDEN, ("-----begin",)),
        Rule(_token(8, 16, 20), _HIDDEN, _MARKS),
        _address(r"(?!\[REDACTED\])[^\s/?#@\"'<>]++(?=@)"),
        _password(
            rf"{_QUOTE}(?![/~.$])[^\s\"'\\]{{6,}}+{_QUOTE}|(?![/~.$])(?={_WORD}{{0,40}}?\d){_WORD}{{6,}}+(?![(\[])"
        ),
        _secret(rf"{_QUOTE}[\w./+=~-]{{16,}}+{_QUOTE}|(?={_WORD}{{0,200}}?\d)[\w/+=~-]{{16,}}+(?![(\[.])"),
    )


@cache
def unfinished() -> tuple[Rule, ...]:
    """Return the rules for the beginning of a token at the end of a text."""
    return (
        Rule(re.compile(rf"{_BEGIN}(?:{_BREAK}|[A-Za-z0-9+/=:,.-]| )*+"), _HIDDEN, ("-----begin",)),
        Rule(_begun_token(), _HIDDEN, _MARKS),
        _address(r"(?!\d{0,5}\Z)[^\s/?#@\"'<>]++"),
        _password(rf"{_QUOTE}[^\s\"'\\]++|{_WORD}++"),
        _secret(rf"{_QUOTE}[\w./+=~-]++|[\w/+=~-]++"),
    )
