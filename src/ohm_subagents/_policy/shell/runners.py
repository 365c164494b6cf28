"""Programs that run what they are given as text, as arguments or on their input, and programs that never do."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents._policy.shell.line import ShellLine, SimpleCommand
    from ohm_subagents._policy.shell.word import Word

_SHELL: Final = re.compile(r"(?:r?bash|sh|dash|ash|zsh|[m]?ksh\d*|fish|t?csh|busybox|toybox|pwsh|elvish|nu|xonsh)")
_INTERPRETER: Final = re.compile(
    r"(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|wish|osascript|rscript|guile|julia|expect|"
    r"groovy|scala|jshell|irb|ipython|sqlite|psql|mysql|gdb|ed|ex|vim?|nvim|emacs)[\d.]*"
)
_AWK: Final = re.compile(r"[gmn]?awk")
_AWK_RUNS: Final = re.compile(r"system|getline|[|@]")
_INLINE: Final = re.compile(r"-[a-zA-Z]*[ceEprRn]|--(?:eval|execute|print|command|expr|run)(?:=.*)?|-ex|--batch|\+.*|-")
_NOT_A_NAME: Final = re.compile(r"[^\w./=:@,+-]")
_WRAPPERS: Final = frozenset(
    """
    exec command builtin env sudo doas su nohup nice ionice chrt timeout time stdbuf setsid taskset xargs
    parallel watch flock coproc then chroot unshare nsenter runuser setpriv systemd-run strace ltrace perf
    script screen tmux ssh rsh docker podman kubectl at batch trap eval noglob rlwrap unbuffer entr
    dbus-run-session xvfb-run proot fakeroot firejail bwrap caffeinate
    """.split()  # noqa: SIM905  one line a name would hide the list
)
"""Programs that run their arguments, beside the shells. A program that is not named may run its arguments as well: a
rule that refuses looks at those of every program that is not known to only read them."""
_READERS: Final = frozenset(
    """
    echo printf cat tac ls grep egrep fgrep rg head tail wc uniq cut tr diff cmp comm stat file basename dirname
    mkdir rmdir touch cd pwd pushd popd test [ true false : sleep date seq tee nl od xxd sha256sum md5sum du df
    chmod which type realpath readlink jq
    """.split()  # noqa: SIM905  one line a name would hide the list
)
"""Programs for which arguments are only data."""
_RENAMES: Final = frozenset(["ln", "cp", "mv", "install", "rsync", "link", "dd"])
_REDEFINES: Final = frozenset(["alias", "hash", "enable", "shopt", "bind", "complete", "compgen"])
_BUILDERS: Final = frozenset(
    """
    make gmake ninja just task rake invoke tox nox pytest npm yarn pnpm npx bunx gradle gradlew mvn ant cargo go cmake
    meson bazel composer bundle pre-commit
    """.split()  # noqa: SIM905  one line a name would hide the list
)
"""Programs that run what stands in files of the directory."""
_DEVICE: Final = re.compile(r"/dev/\w+")
_OWN_APPENDS: Final = frozenset(["xargs", "parallel"])
_SOURCES: Final = frozenset(["source", "."])


def program(word: Word) -> str:
    """Return the name of a program without its directories, in lower case; empty if it is not known."""
    return (PurePosixPath(word).name or word).casefold() if word else ""


def only_reads(command: SimpleCommand) -> bool:
    """Return True if a program takes its arguments as data."""
    return bool(command.words) and command.words[0] in _READERS


def renames(command: SimpleCommand) -> bool:
    """Return True if the command may give a program another name."""
    return program(command.words[0]) in _RENAMES


def runs_arguments(word: Word) -> bool:
    """Return True for a program that runs its arguments, as `env`."""
    return program(word) in _WRAPPERS


def appends(word: Word) -> bool:
    """Return True for a program that adds what it reads to the arguments of the one that it runs."""
    return program(word) in _OWN_APPENDS


def runs_text(command: SimpleCommand) -> bool:
    """Return True if the command may run a text, or a file, that another command of the line wrote."""
    name = command.words[0]
    found = program(name)
    return (
        name is None
        or "/" in name
        or found in _WRAPPERS
        or found in _SOURCES
        or _SHELL.fullmatch(found) is not None
        or _INTERPRETER.fullmatch(found) is not None
    )


def doubt(command: SimpleCommand, *, writes: bool) -> str:
    """Return why a command may run what the line does not show, or an empty text.

    `writes`: another command of the line writes a file.
    """
    words = command.words
    if words[0] is None:
        return "the name of a program is known only when it runs"
    if only_reads(command):
        return ""
    if program(words[0]) in _REDEFINES:
        return f"'{words[0]}' changes what a name runs"
    if None in words and any(
        program(one) in _WRAPPERS and _hides_the_program(words[at:]) for at, one in enumerate(words)
    ):
        return "the program that another one runs is known only when it runs"
    return next(
        (why for at in range(len(words)) if (why := _doubt_of_runner(words[at:], command, writes=writes))),
        "",
    )


def build_doubt(line: ShellLine) -> str:
    """Return why a program that runs files of the directory may run one that the line writes, or an empty text."""
    for at, command in enumerate(line.commands):
        if program(command.words[0]) in _BUILDERS:
            others = (*line.commands[:at], *(() if line.is_list else line.commands[at + 1 :]))
            if any(map(_writes_a_file, others)):
                return f"'{command.words[0]}' may run a file that the line writes"
    return ""


def _writes_a_file(command: SimpleCommand) -> bool:
    name = program(command.words[0])
    files = [one for one in command.writes if one.word is None or not _DEVICE.fullmatch(one.word)]
    return name == "tee" or (bool(files) and name not in _BUILDERS)


def scripts(command: SimpleCommand) -> tuple[str, ...]:
    """Return the texts of shell that a command is given whole: `sh -c '…'`, `eval '…'`, `trap '…'`."""
    words = command.words
    found: list[str] = []
    for at, word in enumerate(words):
        name, rest = program(word), words[at + 1 :]
        if name == "eval" and rest and None not in rest:
            found.append(" ".join(one or "" for one in rest))
        elif _SHELL.fullmatch(name):
            found += [text for flag, text in pairwise(rest) if text and _is_script_flag(flag)]
        elif name in _WRAPPERS:
            found += [text for text in rest if text and _NOT_A_NAME.search(text)]
    return tuple(found)


def _doubt_of_runner(words: Sequence[Word], command: SimpleCommand, *, writes: bool) -> str:
    name, rest = program(words[0]), words[1:]
    if name in _SOURCES and len(words) == len(command.words):
        return f"'{words[0]}' runs a file that the line writes" if writes or command.is_fed else _unknown(name, rest)
    if name == "eval":
        return _unknown(name, rest)
    if _SHELL.fullmatch(name):
        return _doubt_of_shell(name, rest, command, writes=writes)
    if _INTERPRETER.fullmatch(name) and (len(words) == len(command.words) or rest):
        if any(word is not None and _INLINE.fullmatch(word) for word in rest) or not _operands(rest):
            return f"'{words[0]}' runs a text in another language"
        return f"'{words[0]}' may run a file that the line writes" if writes else _unknown(name, rest[:1])
    if _AWK.fullmatch(name) and any(word is None or _AWK_RUNS.search(word) for word in rest):
        return f"'{words[0]}' may run commands"
    return ""


def _doubt_of_shell(name: str, rest: Sequence[Word], command: SimpleCommand, *, writes: bool) -> str:
    if any(flag is not None and _is_script_flag(flag) for flag in rest):
        return _unknown(name, rest)
    if not _operands(rest):
        asks = any(word in {"--version", "--help"} for word in rest)
        return "" if asks else f"'{name}' runs what it reads"
    if command.is_fed or writes:
        return f"'{name}' runs a file that the line may write"
    return _unknown(name, rest[:1])


def _unknown(name: str, words: Sequence[Word]) -> str:
    return f"the text that '{name}' runs is known only when it runs" if None in words else ""


def _is_script_flag(word: Word) -> bool:
    return word is not None and re.fullmatch(r"-[a-zA-Z]*c|--command", word) is not None


def _operands(words: Sequence[Word]) -> list[Word]:
    return [word for word in words if word is None or not word.startswith("-")]


def _hides_the_program(words: Sequence[Word]) -> bool:
    """Return True if only options, their values and settings come between a wrapper and a word that is not known."""
    for at, word in enumerate(words[1:], start=1):
        if word is None:
            return True
        is_value = (words[at - 1] or "").startswith("-")
        if not (word.startswith("-") or "=" in word or word.isdecimal() or is_value):
            return False
    return False
