"""The examples run, print what they end in, and are as short as an example should be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pages import Reader

from ohm_subagents.testing import HERMETIC

EXAMPLES = sorted(
    [
        *(Path(__file__).parents[2] / "examples").glob("*.py"),
        Path(__file__).parents[2] / "examples/frameworks/pydantic_ai_agent.py",  # the others are run by tests/adapters
    ]
)
MARK = "# Prints:\n"


SLOW = "26_server"
"""It starts a process, as the guide about servers does in the same way."""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "example",
    [pytest.param(one, marks=[pytest.mark.slow] if one.stem == SLOW else [], id=one.stem) for one in EXAMPLES],
)
def test_an_example_prints_what_it_says(example, tmp_path, capfd):
    program, _, tail = example.read_text(encoding="utf-8").partition(MARK)
    expected = "".join(f"{line.removeprefix('# ')}\n" for line in tail.splitlines())

    assert Reader(tmp_path, env=dict(HERMETIC)).run(program) == expected
    assert capfd.readouterr() == ("", "")
    assert program.startswith('"""')


@pytest.mark.slow  # the page of the tutorial about backends runs the same kit
def test_the_backend_example_obeys_the_law():
    example = next(path for path in EXAMPLES if path.stem == "05_backend")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(example)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | HERMETIC)

    assert "12 passed" in done.stdout, done.stdout
