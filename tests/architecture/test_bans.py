"""Each ban of pyproject is really refused: ruff is run on code that does it."""

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest


def complaints(root: Path, code: str, file: str = "src/ohm_subagents/_policy/example.py") -> list[tuple[str, str]]:
    ruff = shutil.which("ruff", path=sysconfig.get_path("scripts"))
    assert ruff, "ruff is a dev dependency"
    command = [ruff, "check", "--no-cache", "--output-format", "json", "--stdin-filename", file, "-"]
    finished = subprocess.run(command, input=code, cwd=root, capture_output=True, text=True, check=False)
    return [(found["code"], found["message"]) for found in json.loads(finished.stdout)]


def test_every_banned_name_is_refused(root: Path, pyproject: dict[str, Any]) -> None:
    banned: dict[str, dict[str, str]] = pyproject["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    assert {
        "asyncio",
        "os.environ",
        "os.getenv",
        "time.time",
        "datetime.datetime.now",
        "random",
        "unittest.mock",
    } <= set(banned)
    code = "".join(f"import {name.partition('.')[0]}\nprint({name})\n" for name in banned)
    refused = {
        message.partition("`")[2].partition("`")[0] for rule, message in complaints(root, code) if rule == "TID251"
    }
    assert refused == set(banned)


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("from . import ids\n", "TID252"),
        ("try:\n    go()\nexcept Exception:\n    pass\n", "BLE001"),
        ("try:\n    go()\nexcept:\n    pass\n", "E722"),
        ("print('hello')\n", "T201"),
        ("def f(x):\n    return x\n", "ANN001"),
        ("def f(x: int, *, y: bool = 1) -> Any: ...\n", "F821"),
        ("value = 1  # noqa\n", "PGH004"),
        ("value = 1  # type: ignore\n", "PGH003"),
        ("import datetime\ndatetime.datetime.utcnow()\n", "DTZ003"),
        ("import os\nos.path.join('a', 'b')\n", "PTH118"),
        ("# x = compute(1, 2)\n", "ERA001"),
    ],
)
def test_a_rule_of_the_house_is_on(root: Path, code: str, rule: str) -> None:
    assert rule in [found for found, _ in complaints(root, code)]


def test_docstrings_are_required_at_the_doors_and_only_there(root: Path) -> None:
    undocumented = "class Thing:\n    def method(self) -> None: ...\n"
    at_a_door = {rule for rule, _ in complaints(root, undocumented, "src/ohm_subagents/contract/example.py")}
    inside = {rule for rule, _ in complaints(root, undocumented)}
    assert {"D100", "D101", "D102"} <= at_a_door
    assert not any(rule.startswith("D1") for rule in inside)


def test_a_warning_is_an_error_and_an_unknown_marker_too(pyproject: dict[str, Any]) -> None:
    options = pyproject["tool"]["pytest"]["ini_options"]
    assert options["addopts"][:2] == ["-W", "error"]
    assert {"--strict-markers", "--strict-config"} <= set(options["addopts"])
    assert options["xfail_strict"] is True
