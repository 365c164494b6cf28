"""The client of fastmcp, in an environment of its own: its tasks are ours."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_process import EXECUTABLE, mcp_listener, place_of
from not_installed import not_installed

CLIENT = Path(__file__).with_name("fastmcp_client.py")
TOKEN = "s3cret-s3cret-s3cret"
PRINTED = """\
tools: task librarian
called: line two
status: working
task: line two
cancelled: cancelled
"""
INSTALL = ("pip", "install", "--quiet", "--no-compile-bytecode")  # a tenth of what is installed is imported
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python that has fastmcp-tasks; see `not_installed`."""
    place = tmp_path_factory.mktemp("fastmcp")
    uv = shutil.which("uv", path=Path(sys.executable).parent) or shutil.which("uv")
    steps = (
        [uv, "venv", "--quiet", "--python", sys.executable, place],
        [uv, *INSTALL, "--python", place / "bin" / "python", "fastmcp-tasks>=4.1,<5"],
    )
    for step in steps:
        if uv is None or subprocess.run(step, capture_output=True, check=False).returncode:
            not_installed("fastmcp-tasks could not be installed")
    return place / "bin" / "python"


def printed(python, *arguments, env):
    command = [python, CLIENT, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout or done.stderr


def test_over_the_streams(tmp_path, python):
    assert printed(python, "stdio", EXECUTABLE, env=place_of(tmp_path)) == PRINTED


def test_over_http(tmp_path, python):
    with mcp_listener(tmp_path, OHM_MCP_TOKEN=TOKEN) as server:
        assert printed(python, "http", server.url, TOKEN, env=place_of(tmp_path)) == PRINTED
