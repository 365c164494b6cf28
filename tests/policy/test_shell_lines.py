"""Patterns for the command lines of `bash`: nothing that bash would run slips through, and plain work is let be."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ohm_subagents.config import CallRules, judge_call

if TYPE_CHECKING:
    from collections.abc import Callable

_LINES = json.loads(Path(__file__).with_name("shell_lines.json").read_text())
_DENY = CallRules(deny=(_LINES["rule"],))


def _allow(*patterns: str) -> CallRules:
    return CallRules(allow=patterns)


def refusal(rules: CallRules, line: str) -> str | None:
    """Return why a rule denies a command line; None if it does not."""
    decision = judge_call([rules], "bash", {"command": line}, cwd=Path("/work"))
    return decision.reason if decision.verdict == "deny" else None


def test_a_denied_command_is_found_however_it_is_written() -> None:
    assert [line for line in _LINES["hidden"] if refusal(_DENY, line) is None] == []


def test_other_commands_run_beside_a_denied_one() -> None:
    assert [line for line in _LINES["harmless"] if refusal(_DENY, line) is not None] == []


def test_a_list_of_allowed_commands_lets_no_other_through() -> None:
    rules = _allow("git diff *", "ls *", "cat *", "echo *", "true", "cd *")
    assert [line for line in _LINES["hidden"] if refusal(rules, line) is None] == []


@pytest.mark.parametrize(
    "line",
    [
        "git diff",
        "git diff --stat HEAD~1",
        "git diff && ls",
        "git diff | cat",
        "cd sub; git diff",
        "git diff 2>&1",
        "git diff 2>/dev/null",
        "git diff 'a b'",
        'git diff "$FILE"',
        "ls\ngit diff",
        "ls # the rest",
        "git diff \\\n  a b",
    ],
)
def test_allowed_commands_may_follow_one_another(line: str) -> None:
    assert refusal(_allow("git diff *", "ls *", "cat", "cd *"), line) is None


@pytest.mark.parametrize(
    "line",
    [
        "git diff > out",
        "git diff >> ~/.bashrc",
        "A=1 git diff",
        "GIT_EXTERNAL_DIFF=x git diff",
        "./git diff",
        "/tmp/git diff",
        "git -c x=y diff",
        "git",
        "gitk diff",
        "Git diff",
        "git diff $(ls)",
        "git diff <(ls)",
        "f() { git diff; }; f",
        "if ls; then git diff; fi",
        "env git diff",
        "git diff; rm x",
        "git diff | sh",
        "$X diff",
        "git $X",
        "git dif?",
        "git 'diff --stat'",
        "export A=1; git diff",
        "[ -f x ] && git diff",
        "",
        " ",
        "# git diff",
    ],
)
def test_what_is_not_certainly_allowed_is_denied_or_runs_nothing(line: str) -> None:
    runs_nothing = not line.strip() or line.startswith("#")
    assert (refusal(_allow("git diff *", "ls *"), line) is None) is runs_nothing


@pytest.mark.parametrize("line", ["git p", "GIT_DIR=/else git status", "echo x > Makefile; make"])
def test_a_line_that_may_run_anything_is_asked_about_and_may_be_allowed_by_name(line: str) -> None:
    asked = judge_call([CallRules(ask=("rm *",))], "bash", {"command": line}, cwd=Path("/work"))
    assert asked.verdict == "ask"
    assert (refusal(_allow("git p"), line) is None) is (line == "git p")


def test_a_denial_wins_over_what_is_allowed() -> None:
    allowed = _allow("git *").allow
    rules = CallRules(allow=allowed, deny=("git push --force *",))
    assert refusal(rules, "git push origin") is None
    assert refusal(rules, "git push origin --force") is not None
    assert refusal(rules, "git diff; git push --force") is not None


@pytest.mark.parametrize(
    "line", ["rm -rf x", "rm -fr x", "rm -r -f x", "rm x -rf", "rm -rfv x", "/bin/rm -vrf x", "rm $X"]
)
def test_an_option_of_a_denied_command_is_found_in_any_order_and_spelling(line: str) -> None:
    assert refusal(CallRules(deny=("rm -rf *",)), line) is not None


def test_a_refusal_says_which_rule_and_why() -> None:
    assert refusal(_DENY, "ls; git push") == "it may run 'git push *'"
    assert refusal(_DENY, "$X").startswith("it may run any command: the name of a program is known only when it runs")
    assert refusal(_DENY, "git p").startswith("it may run any command: 'git p' may be an alias")
    assert refusal(_allow("ls"), "rm x") == "no pattern allows 'rm x'"


_WRITTEN = st.sampled_from(
    ["git push", "'git' push", 'g"i"t pu\\sh', "git  'push' x", "G=git; $G push", "git -C . push"]
)
_WRAPPED: list[Callable[[str], str]] = [
    lambda line: f"true; {line}",
    lambda line: f"true && {{ {line}\n}}",
    lambda line: f"( {line}\n)",
    lambda line: f"echo $({line}\n)",
    lambda line: f'echo "$({line}\n)"',
    lambda line: f"cat <({line}\n)",
    lambda line: f"if true; then\n{line}\nfi",
    lambda line: f"for i in 1; do\n{line}\ndone",
    lambda line: f"f() {{\n{line}\n}}; f",
    lambda line: f"cat <<E\n$({line}\n)\nE\n",
    lambda line: f"sh <<'E{len(line)}'\n{line}\nE{len(line)}\n",
    lambda line: f"bash -c {_quoted(line)}",
    lambda line: f"eval {_quoted(line)}",
    lambda line: f"printf %s {_quoted(line)} | bash",
    lambda line: f"x=$({line}\n)",
    lambda line: f"echo ${{x:-$({line}\n)}}",
    lambda line: f"[[ -n $({line}\n) ]]",
    lambda line: f"env A=1 bash -c {_quoted(line)}",
    lambda line: f"{line}\ntrue",
    lambda line: f"! true || {{ {line}\n}}",
    lambda line: f"case a in a) {line}\n;; esac",
    lambda line: f"trap {_quoted(line)} EXIT",
    lambda line: f'x={_quoted(line)}; eval "$x"',
]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _nested(written: str, wraps: list[Callable[[str], str]]) -> str:
    for wrap in wraps:
        written = wrap(written)
    return written


_HIDDEN = st.builds(_nested, _WRITTEN, st.lists(st.sampled_from(_WRAPPED), max_size=4))


@given(_HIDDEN)
def test_a_denied_command_is_found_at_any_depth(line: str) -> None:
    assert refusal(_DENY, line) is not None


@given(st.text(alphabet="git push;&|$(){}<>'\"\\\n`#!*x=-", max_size=40))
def test_a_further_rule_allows_no_more_of_any_text(line: str) -> None:
    only, both = _allow("git diff *"), CallRules(allow=_allow("git diff *").allow, deny=_DENY.deny)
    assert refusal(both, line) is not None or (refusal(only, line) is None and refusal(_DENY, line) is None)


@pytest.mark.slow  # bash itself is asked, a process a line
@settings(max_examples=400)
@given(st.one_of(_HIDDEN, st.text(alphabet="git push;&|$(){}<>'\"\\\n`#!*x=-", max_size=30)))
def test_bash_runs_no_denied_command_that_was_not_found(tmp_path_factory: pytest.TempPathFactory, line: str) -> None:
    if refusal(_DENY, line) is None:
        assert not _pushes(tmp_path_factory.mktemp("line"), line)


@pytest.mark.slow  # bash itself is asked, a process a line
def test_the_hidden_commands_do_run_in_bash(tmp_path: Path) -> None:
    run = sum(_pushes(tmp_path / str(at), line) for at, line in enumerate(_LINES["hidden"]) if "\0" not in line)
    assert run > 150


def _pushes(place: Path, line: str) -> bool:
    """Run a line with a `git` that only notes its arguments; return True if one was `push`."""
    programs = place / "bin"
    programs.mkdir(parents=True)
    ran = place / "ran"
    (programs / "git").write_text(f'#!/bin/sh\necho "$*" >> {ran}\n')
    (programs / "git").chmod(0o700)
    for name in ("sh", "bash", "cat", "env", "tee", "base64", "nice", "nohup", "timeout", "stdbuf", "setsid", "xargs"):
        (programs / name).symlink_to(shutil.which(name) or "")
    work = place / "work"
    work.mkdir()
    command = (programs / "bash", "-c", line)
    with suppress(subprocess.TimeoutExpired):  # `while git push; do …`
        subprocess.run(
            command,
            check=False,
            cwd=work,
            env={"PATH": str(programs), "HOME": str(work)},  # a line may write there
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=1,
        )
    return ran.exists() and any("push" in one.split() for one in ran.read_text().splitlines())
