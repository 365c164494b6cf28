"""The ways in which `git` runs what its arguments do not name: aliases, settings, variables, hooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ohm_subagents._policy.shell.runners import only_reads, program, runs_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ohm_subagents._policy.shell.line import ShellLine, SimpleCommand
    from ohm_subagents._policy.shell.word import Word

_OWN: Final = frozenset(
    """
    add am annotate apply archive backfill bisect blame branch bugreport bundle cat-file check-attr check-ignore
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit
    commit-graph commit-tree config count-objects credential credential-cache credential-store daemon describe diagnose
    diff diff-files diff-index diff-pairs diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch
    fmt-merge-msg for-each-ref for-each-repo format-patch fsck fsck-objects gc get-tar-commit-id grep gui hash-object
    help history hook http-backend http-fetch http-push imap-send index-pack init init-db instaweb interpret-trailers
    last-modified lfs log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file
    merge-index merge-one-file merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects
    pack-redundant pack-refs patch-id prune prune-packed pull push quiltimport range-diff read-tree rebase receive-pack
    reflog refs remote repack replace replay repo request-pull rerere reset restore rev-list rev-parse revert rm
    send-email send-pack shell shortlog show show-branch show-index show-ref sparse-checkout stage stash status
    stripspace submodule subtree survey svn switch symbolic-ref tag unpack-file unpack-objects update-index update-ref
    update-server-info upload-archive upload-pack url-parse var verify-commit verify-pack verify-tag version
    whatchanged worktree write-tree
    """.split()  # noqa: SIM905  one line a name would hide the list
)
"""The subcommands of git itself, and of its usual extensions: no alias can have the name of one."""
_WITH_VALUE: Final = frozenset(["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"])
_ELSEWHERE: Final = re.compile(r"--(?:git-dir|exec-path|config-env)(?:=.*)?")
"""The options by which git reads other settings, or runs other programs."""
_QUIET_KEY: Final = re.compile(
    r"(?:user|author|committer|color|column|advice|push|pull|fetch|branch|rerere|safe|gc|status|log|pack|index|feature|"
    r"tag|commit|i18n|blame|grep|http|stash|show|apply|am|checkout|clone|format|rebase|worktree|versionsort)\..*|"
    r"core\.(?:abbrev|autocrlf|bare|commentchar|compression|eol|excludesfile|filemode|ignorecase|logallrefupdates|"
    r"longpaths|precomposeunicode|quotepath|safecrlf|symlinks|untrackedcache|whitespace)|"
    r"init\.defaultbranch|merge\.(?:conflictstyle|ff|log|renames|stat)|diff\.(?:algorithm|colormoved|context|renames)|"
    r"remote\.[^.]*\.(?:fetch|pushurl|url)",
    re.IGNORECASE | re.DOTALL,
)
"""Settings that run nothing."""
_QUIET_VALUE: Final = re.compile(r"(?:cat|less|more|true|false|:|/dev/null|\d*)")
"""Values of settings and variables that run no other program."""
_READS: Final = re.compile(r"--get(?:-.*)?|-l|--list|--unset(?:-all)?")
_READING: Final = frozenset(["get", "list", "unset"])
_QUIET_VARIABLE: Final = (
    r"AUTHOR_|COMMITTER_|TRACE|TERMINAL_PROMPT|OPTIONAL_LOCKS|MERGE_AUTOEDIT|INDEX_FILE|LFS_|CEILING_|PS1_|FLUSH|"
    r"\w+_PATHSPECS|REFLOG_ACTION|NO_|DEFAULT_|ADVICE"
)
_VARIABLE: Final = re.compile(
    rf"(GIT_(?!{_QUIET_VARIABLE})\w+|HOME|XDG_CONFIG_HOME|PAGER|EDITOR|VISUAL|SSH_ASKPASS)(?:\+?=(.*))?", re.DOTALL
)
"""A variable of which git takes programs, settings or a repository, and its value."""
_DECLARES: Final = frozenset(["export", "declare", "typeset", "readonly", "local", "read", "printf", "mapfile"])
_SETTINGS: Final = re.compile(
    r"\.gitconfig|\.git(?:$|/(?!info/exclude$|index\.lock$|\w+_\w+$))|config/git(?:/|$)|etc/git"
)
"""The places of the settings and hooks of git."""
_WRITES: Final = frozenset(["tee", "cd", "pushd", "="])
_REMOVES: Final = frozenset(["rm", "rmdir", "unlink"])
_QUOTES: Final = str.maketrans("", "", "'\"\\")
_RUNS_TEXT: Final = frozenset(
    ["foreach", "run", "filter-branch", "for-each-repo", "-x", "--exec", "--extcmd", "--upload-pack", "--receive-pack"]
)
_HIDES: Final = re.compile(r"[^\w\s./=:@,+-]")


def git_doubt(line: ShellLine) -> str:
    """Return why git may run what the line does not show, or an empty text."""
    if not any(program(word) == "git" for command in line.commands for word in command.words):
        return ""
    for at, command in enumerate(line.commands):
        why = next((why for rest in _calls(command) if (why := _doubt_of(rest))), "") or _variables(command)
        if not why and any(map(_names_git, (*line.commands[at + 1 :], *(() if line.is_list else line.commands[:at])))):
            why = _changed(command)
        if why:
            return why
    return ""


def _names_git(command: SimpleCommand) -> bool:
    return not only_reads(command) and any(program(word) == "git" for word in command.words)


def _calls(command: SimpleCommand) -> Iterator[tuple[Word, ...]]:
    """Yield the arguments of git, where it is the program or one that a program before it runs."""
    is_run = True
    for at, word in enumerate(command.words):
        if is_run and program(word) == "git":
            yield command.words[at + 1 :]
        is_run = (at > 0 and is_run) or runs_arguments(word) or word in {"-exec", "-execdir", "-ok", "-okdir"}


def _doubt_of(rest: Sequence[Word]) -> str:
    """Return why a call of git may run something else than its subcommand."""
    end = _end_of_options(rest)
    for at, word in enumerate(rest[:end]):
        if word is not None and _ELSEWHERE.fullmatch(word) and len(rest) > 1:
            return f"'git {word}' may run other programs"
        if word is not None and word.startswith("-c"):
            setting = word[2:] if word != "-c" else next(iter(rest[at + 1 :]), "")
            if not _is_quiet(setting):
                return "a setting of git may run a program"
    if end >= len(rest):
        return ""
    name, given = rest[end], rest[end + 1 :]
    if name is None:
        return "the subcommand of git is known only when it runs"
    if name not in _OWN:
        return f"'git {name}' may be an alias"
    runs_text = any(word in _RUNS_TEXT for word in (name, *given))
    if runs_text and any(word is None or _HIDES.search(word) for word in given):
        return f"the text that 'git {name}' runs is known only when it runs"
    return ""


def _end_of_options(rest: Sequence[Word]) -> int:
    """Return the position of the subcommand among the arguments of git."""
    at = 0
    while at < len(rest) and (rest[at] or "").startswith("-"):
        at += 2 if rest[at] in _WITH_VALUE else 1
    return at


def _is_quiet(setting: Word) -> bool:
    """Return True for a setting, as `a.b=c`, that certainly runs no program."""
    if setting is None:
        return False
    key, _, value = setting.partition("=")
    if _QUIET_KEY.fullmatch(key):
        return True
    return not key.casefold().startswith(("alias.", "include")) and _is_plain(value)


def _is_plain(value: str) -> bool:
    return _QUIET_VALUE.fullmatch(value) is not None


def _variables(command: SimpleCommand) -> str:
    """Return why a variable that a command sets may change what git runs."""
    declares = command.words[0] in _DECLARES
    texts = [*command.inputs]
    if declares or any(map(runs_arguments, command.words)):
        texts += [source if word is None else word for word, source in command.written[1:]]
    for text in texts:
        found = _VARIABLE.fullmatch(text.translate(_QUOTES))
        if found is None:
            continue
        name, value = found.groups()
        if declares if value is None else name.startswith("GIT_CONFIG_KEY") or not _is_plain(value):
            return f"'{name}' may change what git runs"
    return ""


def _changed(command: SimpleCommand) -> str:
    """Return why a command may change the settings or the hooks of git for what follows."""
    for rest in _calls(command):
        at = _end_of_options(rest)
        if rest[at : at + 1] == ("config",) and not _only_reads(rest[at + 1 :]):
            return "a setting of git is changed in it"
    name = program(command.words[0])
    places = [source for _, source in command.writes]
    if name in _WRITES or not (only_reads(command) or name == "git" or name in _REMOVES):
        places += [*command.inputs, *(source for _, source in command.written)]
    changed = any(_SETTINGS.search(place.translate(_QUOTES)) for place in places)
    return "a setting or a hook of git is changed in it" if changed else ""


def _only_reads(rest: Sequence[Word]) -> bool:
    """Return True for arguments of `git config` that change no setting by which git runs a program."""
    operands = [word for word in rest if word is None or not word.startswith("-")]
    if any(word is not None and _READS.fullmatch(word) for word in rest) or operands[:1] in [[one] for one in _READING]:
        return True
    key = next(iter(operands[1:] if operands[:1] == ["set"] else operands), None)
    return key is not None and (len(operands) == 1 or _QUIET_KEY.fullmatch(key) is not None)
