"""An application joins us to what it has by few lines, which the examples show."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = 6
FRAMEWORKS = sorted((ROOT / "examples/frameworks").glob("*.py"))
OURS = re.compile(r"\bohm|\bOhm\b|\btools\(|\bhandle\b|@tool\b|\bprice\b")
"""A line with a name of ours, or of what it gave."""


def glue(program):
    """The lines of a program that are about us."""
    code = (line for line in program.splitlines() if not line.lstrip().startswith(("#", '"""')))
    return [line for line in code if OURS.search(line)]


def example(name, first, last):
    """The part of an example from one text to another, without what only the example needs."""
    program = (ROOT / f"examples/{name}.py").read_text(encoding="utf-8")
    return program[program.index(first) : program.index(last)]


@pytest.mark.parametrize("file", FRAMEWORKS, ids=lambda path: path.stem)
def test_an_agent_of_a_framework_gets_our_tools_by_a_few_lines(file):
    assert 3 <= len(glue(file.read_text(encoding="utf-8"))) <= MOST


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("12_server_sent_events", "async def answer", "async def main"),
        ("14_tools_and_types", "@tool", "class Bill"),
        ("16_mcp_server", "Client(mcp_server(ohm))", "envelope = "),
    ],
)
def test_so_does_a_web_service_a_function_and_a_client_of_mcp(name, first, last):
    assert 1 <= len(glue(example(name, first, last))) <= MOST
