"""The forms of secrets in any text, and of stack frames and home directories.

Every rule takes time in proportion to the text, whatever the text is.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from ohm_subagents.redaction import token_shapes
from ohm_subagents.redaction.token_shapes import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

REDACTED: Final = "[REDACTED]"
_GITHUB: Final = "[GITHUB_TOKEN_REDACTED]"
_EXPORTED: Final = "[ENV_VAR_REDACTED]"
_FRAME_CUT: Final = " at [REDACTED_PATH]"
_HOME: Final = "~"
ENDS: Final = (REDACTED, _GITHUB, _EXPORTED, _FRAME_CUT, _HOME)
"""The replacements of a secret that was cut out."""
MAX_STACK_LINES: Final = 5
_SHOWN_OF_A_FRAME: Final = 100
_LEAST_NAMED: Final = 20
_LEAST_TOKEN: Final = 16
_LEAST_WORD: Final = 6

_FLAGS: Final = re.IGNORECASE | re.ASCII
_NAME: Final = r"(?:api[_-]?(?:key|token)|auth[_-]?token|access[_-]?token|secret[_-]?key)"
_AWS: Final = r"AWS[_-]?(?:ACCESS[_-]?KEY[_-]?ID|SECRET[_-]?ACCESS[_-]?KEY)"
_PROVIDER: Final = r"(?:STRIPE(?:[_-](?:SECRET|PUBLISHABLE|API))?[_-]?KEY|(?:OPENAI|ANTHROPIC)[_-]?API[_-]?KEY)"
_QUOTE: Final = r"""(?:\\{0,3}["'])?"""
"""One or none, escaped perhaps: arguments of tools are shown as JSON."""
_IS: Final = rf"{_QUOTE}\s*+[:=]\s*+{_QUOTE}"
_SECRET_KEY: Final = re.compile(rf"{_NAME}|{_AWS}|{_PROVIDER}|authorization", _FLAGS)
_SECRET_WORD: Final = re.compile(r"pass(?:word|wd|phrase)|(?<![a-z])pwd\b", _FLAGS)
_TOKEN_KEY: Final = re.compile(r"(?:token|secret|private[_-]?key)\Z", _FLAGS)
_PARAMETER: Final = r"""[\w-]++\s*+=\s*+(?:\\{0,3}"[^"\\\n]*+(?:\\{0,3}")?+|[^\s"',]++)"""
_CREDENTIALS: Final = rf"""(?:{_PARAMETER}(?:\s*+,\s*+{_PARAMETER})*+|[^\s"']++)"""
"""The part behind the name of an authentication scheme: parameters, or one word."""


def _path(first: str, goes_on: str) -> str:
    """Match `first` where a path may begin: not after what a path goes on with, but after an escape in JSON, a colour
    of a terminal, and a flag as in `-I/home/ann`. It is looked for before what is before it, which is slow.
    """
    before = (r"\\[nrt]", r"\\u[0-9a-fA-F]{4}", r"[\d;\[][mK]", r"(?<![\w-])-[A-Za-z]", "-isystem", "-iquote")
    return rf"{first}(?:(?<![{goes_on}]{first})|{'|'.join(f'(?<={one}{first})' for one in before)})"


def _before_frames(*, named: int, github: int, exported: int) -> tuple[Rule, ...]:
    """Return the rules for values that have at least as many characters."""

    def assigned(name: str, value: str, *needs: str) -> Rule:
        """Replace by `NAME=[REDACTED]`, quotes included, with the name as it is written."""
        pattern = re.compile(rf"({name}){_IS}[{value}]{{{named},}}+{_QUOTE}", _FLAGS)
        return Rule(pattern, rf"\1={REDACTED}", needs)

    some = f"{{{exported},}}+"
    return (
        assigned(_NAME, r"\w-", "key", "token"),
        Rule(re.compile(r"Bearer\s++(?!\[REDACTED\])[\w.~+/=:-]++", _FLAGS), f"Bearer {REDACTED}", ("bearer",)),
        Rule(
            re.compile(
                rf"""Authorization(?:{_QUOTE}\s*+:\s*+{_QUOTE}|\\{{0,3}}["']\s*+,\s*+\\{{0,3}}["'])"""
                rf"""(?:\[REDACTED\]|[A-Za-z][\w.-]*+[ \t]++(?!\[REDACTED\]){_CREDENTIALS}|[^\s"']++)""",
                _FLAGS,
            ),
            f"Authorization: {REDACTED}",
            ("authorization",),
        ),
        assigned(_AWS, r"\w/+=-", "aws"),
        Rule(re.compile(rf"gh[pousr]_[A-Za-z0-9_]{{{github},}}+", re.ASCII), _GITHUB, ("gh",)),
        assigned(_PROVIDER, r"\w-", "key"),
        Rule(
            re.compile(
                r"(?:\A|\n|\\n)[ \t]*+export[ \t]++\w++="
                rf"""(?:"[^"\n]{some}"|'[^'\n]{some}'|[^\s"']{some})""",
                _FLAGS,
            ),
            _EXPORTED,
            ("export",),
        ),
    )


def _after_frames(*, least: int) -> Rule:
    """Return the rule for parameters of URLs that have at least as many characters."""
    begins = r"(?:[?&#]|&amp;|\\u0026)"
    name = (
        r"(?:[A-Za-z0-9]{1,40}[_-]){0,4}(?:api[_-]?key|token|secret|auth|sig|signature|password|passwd|pwd|credential)"
    )
    pattern = re.compile(rf"""({begins}{name}=)[^\s&#"'<>]{{{least},}}+""", _FLAGS)
    return Rule(pattern, rf"\1{REDACTED}", ("=",))


_FRAME: Final = re.compile(
    r"(?<!\s)\s++at\s++(?:async\s++)?(?:new\s++)?[^\s()]++\s++(?:\[as [^\s\[\]()]++\]\s++)?\(", re.ASCII
)
_INNER: Final = r"\((?:[^()\n]++|\([^()\n]*+\))*+\)"
_BALANCED: Final = re.compile(rf"(?:[^()\n]++|{_INNER})*+\)")
"""The rest of a frame after its bracket, to the one that closes it: a path may have brackets, in two levels."""
_PLACE: Final = re.compile(r"[/\\:<.]|native")
_STACK: Final = re.compile(r"\s+at\s|(?:Type|Reference)?Error:", re.ASCII)


@cache  # all of these are compiled where a text is redacted, for most are not
def _whole() -> tuple[tuple[Rule, ...], Rule]:
    """Return the forms of a secret that come before stack frames, and those that come after."""
    before = _before_frames(named=_LEAST_NAMED, github=36, exported=20)
    return (*before, *token_shapes.rules()), _after_frames(least=10)


@cache
def _homes() -> tuple[re.Pattern[str], ...]:
    """Return the forms of a home directory, those of Windows first."""
    return (
        re.compile(_path("[A-Z]:", r"\w") + r"""[\\/]{1,4}Users[\\/]{1,4}[^\\/\s"'`<>:;,()\x1b]++""", _FLAGS),
        re.compile(_path("G:", r"\w") + r"""\\{1,4}[^\\/\s"'`<>:;,()\x1b]++""", _FLAGS),
        re.compile(
            _path("/", r"\w.~-") + "(?:(?:var|usr|export)/(?=home/)|(?:(?:mnt|cygdrive)/)?[a-z]/(?=Users/))?"
            r"""(?:home|Users)/[^\\/\s"'`<>:;,()\[\]{}|\x1b]++""",
            re.ASCII,
        ),
    )


@cache
def _unfinished() -> tuple[Rule, ...]:
    """Return the beginnings of a secret: the same forms with shorter values, and with a quote that is still open."""
    still_open = re.compile(r"""(?:\A|\n|\\n)[ \t]*+export[ \t]++\w++=(?:"[^"\n]*+|'[^'\n]*+)""", _FLAGS)
    return (
        *_before_frames(named=1, github=0, exported=1),
        Rule(still_open, _EXPORTED, ("export",)),
        _after_frames(least=1),
        *token_shapes.unfinished(),
    )


def least_under(name: object) -> int | None:
    """Return the length from which a text of this name is secret, 0 for `Authorization`; None for no secret."""
    if not isinstance(name, str):
        return None
    named = _SECRET_KEY.search(name)
    if named is not None:
        return 0 if named.group().lower() == "authorization" else _LEAST_NAMED
    if _SECRET_WORD.search(name):
        return _LEAST_WORD
    return _LEAST_TOKEN if _TOKEN_KEY.search(name) else None


def without_unfinished(text: str) -> str:
    """Return the text without what may become a token or a key at its end when it goes on."""
    lowered = text.lower()
    for rule in _unfinished():
        if rule.may_hold(lowered):
            text = rule.pattern.sub(partial(_at_the_end, rule.replacement), text)
    return text


def without_secrets(text: str, *, is_whole: bool) -> str:
    """Return the text without tokens, keys and stack frames; of one that is not whole, an unfinished frame goes too."""
    before_frames, after_frames = _whole()
    lowered = text.lower()
    for rule in before_frames:
        if rule.may_hold(lowered):
            text = rule.pattern.sub(rule.replacement, text)
    text = "".join(_without_frames(text, is_whole=is_whole))
    return after_frames.pattern.sub(after_frames.replacement, text)


def without_homes(text: str) -> str:
    """Return the text with `~` for the home directory of any user."""
    for pattern in _homes():
        text = pattern.sub(_HOME, text)
    return text


def _at_the_end(replacement: str, found: re.Match[str]) -> str:
    return found.expand(replacement) if found.end() == len(found.string) else found.group()


def _without_frames(text: str, *, is_whole: bool) -> Iterator[str]:
    """Yield the text between stack frames, and what is shown of these; blanks and line ends before them go too."""
    done = 0
    while (frame := _FRAME.search(text, done)) is not None:
        balanced = _BALANCED.match(text, frame.end())
        end = text.find(")", frame.end()) + 1 if balanced is None else balanced.end()
        if not end:
            if not is_whole:
                yield text[done : frame.start()]
                yield _FRAME_CUT
                return
            break
        place = text[frame.end() : end - 1]
        if _PLACE.search(place) or re.fullmatch(r"\S+", place):
            yield text[done : frame.start()]
            yield _FRAME_CUT
        else:  # words in brackets, as in any sentence
            yield text[done:end]
        done = end
    yield text[done:]


def folded(text: str) -> str:
    """Return the text with at most five lines of a stack."""
    kept: list[str] = []
    frames = 0
    for line in text.split("\n"):
        if _STACK.match(line) is None:
            kept.append(line)
            continue
        frames += 1
        if frames <= MAX_STACK_LINES:
            kept.append(line)
        elif frames == MAX_STACK_LINES + 1:
            cut = line if len(line) <= _SHOWN_OF_A_FRAME else f"{line[:_SHOWN_OF_A_FRAME]}..."
            kept += (f"    ... [{cut}]", "    [Additional stack frames truncated]")
    return "\n".join(kept)
