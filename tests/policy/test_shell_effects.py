"""Commands that reach the network, or write outside the working directory, are found; plain work is let be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ohm_subagents.config import CallRules, judge_call

_LINES = json.loads(Path(__file__).with_name("shell_effects.json").read_text())
_BOTH = ("@network", "@outside")


def verdict(line: str, cwd: Path, *patterns: str) -> str:
    return judge_call([CallRules(ask=patterns)], "bash", {"command": line}, cwd=cwd).verdict


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    (place / "sub").mkdir(parents=True)
    (place / "exit").symlink_to(tmp_path)
    return place


def test_plain_work_is_not_asked_about(work: Path) -> None:
    assert [line for line in _LINES["harmless"] if verdict(line, work, *_BOTH) != "allow"] == []


@pytest.mark.parametrize("kind", ["network", "outside"])
def test_an_effect_is_found_however_it_is_written(work: Path, kind: str) -> None:
    assert [line for line in _LINES[kind] if verdict(line, work, f"@{kind}") != "ask"] == []


def test_each_of_the_other_lines_has_an_effect_or_hides_one(work: Path) -> None:
    assert [line for line in _LINES["either"] if verdict(line, work, *_BOTH) != "ask"] == []


@pytest.mark.parametrize("line", ["touch exit/x", "cd exit && touch x", "echo hi > exit/x", "rm -rf exit/sub/../x"])
def test_a_link_out_of_the_directory_leads_out(work: Path, line: str) -> None:
    assert verdict(line, work, "@outside") == "ask"


def test_the_reason_names_the_command_and_its_effect(work: Path) -> None:
    rules = [CallRules(ask=_BOTH)]
    found = judge_call(rules, "bash", {"command": "ls; env curl x"}, cwd=work)
    assert found.reason == "'env curl x' may reach the network"
    found = judge_call(rules, "bash", {"command": "ls > ../x"}, cwd=work)
    assert found.reason == "'ls' may write outside the working directory, or change the machine"


def test_an_effect_can_be_denied(work: Path) -> None:
    rules = [CallRules(deny=("@network",))]
    assert judge_call(rules, "bash", {"command": "curl x"}, cwd=work).verdict == "deny"
