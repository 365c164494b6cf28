"""A pattern for commands, as `git push *`: its words against the words of a command."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from ohm_subagents._policy.shell.runners import appends, only_reads, program, renames
from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents._policy.shell.line import SimpleCommand
    from ohm_subagents._policy.shell.word import Word

ANY: Final = "*"
_PARALLEL: Final = ":::"
"""After it, `parallel` has the arguments that it adds."""
_SUBSCRIPT: Final = re.compile(r"\[.*(?:\$\(|`)", re.DOTALL)
"""A subscript whose substitution bash runs though it is quoted, as in `test -v 'a[$(date)]'`."""
_TOKEN: Final = re.compile(r"[\w-]+")
_FLAGS: Final = re.compile(r"-[a-zA-Z]+")


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """A program and words of its arguments; a `*` at the end is any further arguments, also none."""

    words: tuple[str, ...]
    """The words; `*` in a word is any characters, alone it is any one word."""

    @classmethod
    def parse(cls, text: str) -> CommandPattern:
        """Return the pattern of a text: words between white space. At least one word is expected."""
        return cls(tuple(text.split()))

    def covers(self, command: SimpleCommand) -> bool:
        """Return True if the command is certainly one of the pattern's: the rule of what is allowed."""
        is_open = self.words[-1] == ANY
        wanted = self.words[:-1] if is_open else self.words
        given = command.words
        if not command.is_plain or len(given) < len(wanted) or (len(given) > len(wanted) and not is_open):
            return False
        return all(word is not None and _is(one, word) for one, word in zip(wanted, given, strict=False))

    def may_be(self, command: SimpleCommand, *, is_text_run: bool) -> bool:
        """Return True if the command may run one of the pattern's, with any further arguments: the rule of a refusal.

        `is_text_run`: another command of the line may run what this one writes.
        """
        given = command.words
        if any(map(appends, given)):
            given = tuple(None if word == _PARALLEL else word for word in (*given, None))
        if self.runs(given):
            return True
        if only_reads(command) and not is_text_run:
            return any(
                _SUBSCRIPT.search(text) and self._is_in(text) for text in (*filter(None, given), *command.inputs)
            )
        if any(self.runs(given[at:]) for at in range(1, len(given))):
            return True
        if renames(command) and any(self._names(word) or (word is None and is_text_run) for word in given[1:]):
            return True
        texts = (word for word in given[1:] if word is not None and not word.isalnum())
        return any(map(self._is_in, (*texts, *command.inputs)))

    @property
    def _wanted(self) -> tuple[str, ...]:
        return self.words[1:-1] if len(self.words) > 1 and self.words[-1] == ANY else self.words[1:]

    def _names(self, word: Word) -> bool:
        return word is not None and _is(self.words[0].casefold(), program(word))

    def runs(self, given: Sequence[Word]) -> bool:
        """Return True if words that begin with a program may be one of the pattern's commands."""
        if not given or not self._names(given[0]):
            return False
        rest = given[1:]
        wanted = [one for one in self._wanted if not one.startswith("-")]
        if not all(_has_option(one, rest) for one in self._wanted if one.startswith("-")):
            return False
        # A setting may give a subcommand another name, as `git -c alias.p=push p`.
        settings = " ".join(word for word in rest if word and "=" in word)
        return _may_follow(wanted, rest) or self._is_in(f"{self.words[0]} {settings}")

    def _is_in(self, text: str) -> bool:
        """Return True if a text names the program, and after it the other words in their order."""
        tokens = _TOKEN.findall(text)
        names = [self.words[0].casefold(), *(one for one in self._wanted if not one.startswith("-"))]
        at = 0
        for token in tokens:
            if at < len(names) and _is(names[at], token.casefold() if at == 0 else token):
                at += 1
        return at == len(names)


def _is(pattern: str, word: str) -> bool:
    return pattern == word or (ANY in pattern and fnmatchcase(word, re.sub(r"[\[?]", "[\\g<0>]", pattern)))


def _has_option(option: str, given: Sequence[Word]) -> bool:
    """Return True if an option may be given: `-rf` also as `-fr`, as `-r -f` or within `-rfv`."""
    if any(word is None or _is(option, word) or word.startswith(f"{option}=") for word in given):
        return True
    letters = {letter for word in given if word and _FLAGS.fullmatch(word) for letter in word[1:]}
    return _FLAGS.fullmatch(option) is not None and set(option[1:]) <= letters


def _may_follow(wanted: Sequence[str], given: Sequence[Word]) -> bool:
    """Return True if the words may be given in this order, the first of them as the first argument.

    Before it may be options, each with a value. A word that is not known may stand for any number of words.
    """
    if not wanted:
        return True
    for at, word in enumerate(given):
        if word is None or (_is(wanted[0], word) and _in_order(wanted[1:], given[at + 1 :])):
            return True
        is_value = at > 0 and (given[at - 1] or "").startswith("-")
        if not word.startswith("-") and not is_value:
            return False
    return False


def _in_order(wanted: Sequence[str], given: Sequence[Word]) -> bool:
    left = list(wanted)
    for word in given:
        if not left or word is None:
            return True
        if _is(left[0], word):
            del left[0]
    return not left
