"""The commands of a line that reach the network, or write outside of a directory, as far as the line shows it.

The tables name programs; one that they do not name is taken for one that does neither. A line whose commands cannot all
be known is taken for one that does both (`judgement`).
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from ohm_subagents._policy.ground import real_parts
from ohm_subagents._policy.shell.effect_tables import (
    ALL_OPERANDS,
    LAST_OPERAND,
    MACHINE,
    NETWORK,
    OUTPUT_OPTIONS,
    TARGET_OPTIONS,
    WITH_MODE,
)
from ohm_subagents._policy.shell.pattern import CommandPattern
from ohm_subagents._policy.shell.runners import appends, program, runs_arguments
from ohm_subagents._policy.shell.word import WrittenWord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ohm_subagents._policy.ground import Ground
    from ohm_subagents._policy.shell.line import ShellLine, SimpleCommand

_EDITORS: Final = re.compile(r"-[a-zA-Z]*i.*|--in-place.*")
_DEVICE: Final = re.compile(r"/dev/(?:null|zero|stdout|stderr|stdin|tty|fd/\d+)")
_SOCKET: Final = re.compile(r"/dev/(?:tcp|udp)/")
_FINDS_RUN: Final = frozenset(["-exec", "-execdir", "-ok", "-okdir"])
_SCRIPTS: Final = frozenset(["-e", "-f", "--expression", "--file"])
_UNKNOWN: Final = WrittenWord(None, "$")
_GLOB: Final = re.compile(r"[^$`~!\\'\"()<>|&;\[]*")
_DOTS: Final = re.compile(r"\.\.|(?:^|/)\.[*?]|\{.*\.|\.\{")
"""The patterns that may stand for `..`."""
_WILD: Final = re.compile(r"[*?\[{]")


def effect(name: str, line: ShellLine, cwd: Path, ground: Ground) -> str | None:
    """Return the command of a line that has the effect of this name, as text; None if none shows it.

    The line is run in `cwd`, and the working directory is that of `ground`.
    """
    found = _networked(line) if name == "@network" else _outside(line, cwd, ground)
    return next(iter(found), None)


def _networked(line: ShellLine) -> Iterator[str]:
    for command in line.commands:
        if any(map(_SOCKET.search, (*filter(None, command.words), *command.inputs))):
            yield _text(command)
        yield from (_text(command) for words in _programs(command) if _is_one(words, NETWORK))


def _outside(line: ShellLine, cwd: Path, ground: Ground) -> Iterator[str]:
    """Yield the commands that change the machine, or that write outside from any directory that the line goes to."""
    bases: list[Path | None] = [cwd]
    for command in line.commands:
        moved = _directory(command)
        if moved is not None:
            path = _path(moved)
            bases.append(None if path is None or bases[-1] is None else bases[-1] / path)
    for command in line.commands:
        places = list(command.writes)
        for words in _programs(command):
            if _is_one(words, MACHINE):
                yield _text(command)
            places += _changed(words)
        if any(_leads_out(place, bases, ground) for place in places):
            yield _text(command)


def _programs(command: SimpleCommand) -> Iterator[tuple[WrittenWord, ...]]:
    """Yield the words from each program on: the first one, and those that a program before them runs."""
    words = command.written
    yield words
    runs = False
    added: tuple[WrittenWord, ...] = ()
    for at, (word, _) in enumerate(words):
        if runs and word is not None and not word.startswith("-"):
            yield (*words[at:], *added)
        added = (_UNKNOWN,) if appends(word) else added
        runs = runs or runs_arguments(word) or word in _FINDS_RUN


def _directory(command: SimpleCommand) -> WrittenWord | None:
    """Return where a command moves the shell to; None if it moves it nowhere."""
    if program(command.words[0]) not in {"cd", "pushd", "popd"}:
        return None
    found = next((one for one in command.written[1:] if _is_operand(one)), _UNKNOWN)
    return _UNKNOWN if found.word == "-" else found


def _changed(words: Sequence[WrittenWord]) -> Iterator[WrittenWord]:
    """Yield the places that a program changes, by its arguments."""
    name, places = program(words[0].word), words[1:]
    operands = [one for one in places if _is_operand(one)]
    options = {one.word for one in places if one.word is not None and not _is_operand(one)}
    if name in ALL_OPERANDS:
        yield from operands[1:] if name in WITH_MODE else operands
    elif name in LAST_OPERAND:
        yield from operands[-1:] if len(operands) > 1 else ()
    elif name == "sed" and any(map(_EDITORS.fullmatch, options)):
        yield from operands if options & _SCRIPTS else operands[1:]
    elif name == "find" and options & {"-delete", "-fprint", "-fls", *_FINDS_RUN}:
        yield from operands[:1]
    elif name == "dd":
        yield from (WrittenWord(word[3:], word[3:]) for word, _ in places if word and word.startswith("of="))
    yield from _option_values(places, TARGET_OPTIONS.get(name, OUTPUT_OPTIONS))


def _is_operand(one: WrittenWord) -> bool:
    return one.word is None or not one.word.startswith("-") or one.word == "-"


def _option_values(places: Sequence[WrittenWord], options: Iterable[str]) -> Iterator[WrittenWord]:
    """Yield the values of options: the next word, what follows `=`, or what is joined to a letter."""
    wanted = tuple(options)
    for at, (word, _) in enumerate(places):
        if word is None or not word.startswith("-"):
            continue
        if word in wanted:
            yield from places[at + 1 : at + 2]
        for option in wanted:
            joined = f"{option}=" if option.startswith("--") else option
            if word.startswith(joined) and word != option:
                yield WrittenWord(word[len(joined) :], word[len(joined) :])


def _leads_out(place: WrittenWord, bases: Sequence[Path | None], ground: Ground) -> bool:
    """Return True if a place may be outside of a directory, from any of the places that the line moves to."""
    path = _path(place)
    if path is None:
        return True
    if path == "-" or _DEVICE.fullmatch(path):
        return False
    root = real_parts(ground.cwd)
    seen = (None if base is None else ground.seen(real_parts(base / path)) for base in bases)
    return any(
        found is None or any(one.is_outside or one.place[: len(root)] != root for one in found) for found in seen
    )


def _path(place: WrittenWord) -> str | None:
    """Return the path of a word; of a pattern, the directory that it is in; None if only bash can know it."""
    word, source = place
    if word is not None:
        return word
    if not _GLOB.fullmatch(source) or _DOTS.search(source):
        return None
    found = _WILD.search(source)
    return None if found is None else os.path.dirname(source[: found.start()]) or "."  # noqa: PTH120  `a/` is `a`


@cache
def _patterns(table: str) -> dict[str, tuple[CommandPattern, ...]]:
    """Return the commands of a table, by program."""
    found: dict[str, tuple[CommandPattern, ...]] = {}
    for text in table.split(";"):
        one = CommandPattern.parse(f"{text} *")
        found[one.words[0]] = (*found.get(one.words[0], ()), one)
    return found


def _is_one(words: Sequence[WrittenWord], table: str) -> bool:
    given = tuple(one.word for one in words)
    return any(one.runs(given) for one in _patterns(table).get(program(given[0]), ()))


def _text(command: SimpleCommand) -> str:
    return " ".join("…" if word is None else word for word in command.words) or ", ".join(command.inputs)
