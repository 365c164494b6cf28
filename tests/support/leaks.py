"""A pytest plugin: whatever real process the suite starts carries its marker, and one that is left fails the run.

Our own environment hands the marker on to hosts that a test starts; a test that makes an environment of its own takes
the marker from the fixture `suite_marker`.
"""

import os
from uuid import uuid4

import psutil
import pytest

MARKER = "OHM_SUBAGENT_RUN_ID"
SUITE = uuid4().hex
LEFT = pytest.StashKey[list[str]]()


def carriers(mark):
    """The living processes with this mark in their marker, but ours; by other means than the library's own."""
    found = []
    for process in psutil.process_iter():
        try:
            marks = process.environ().get(MARKER, "").split("/")
        except psutil.Error:
            continue
        if mark in marks and process.pid != os.getpid():
            found.append(process)
    return found


def described(process):
    try:
        return f"{process.pid}: {' '.join(process.cmdline())}"
    except psutil.Error as error:
        return str(error)


def pytest_configure(config):
    del config
    outer = os.environ.get(MARKER)
    os.environ[MARKER] = f"{outer}/{SUITE}" if outer else SUITE


@pytest.fixture(scope="session")
def suite_marker():
    return os.environ[MARKER]


def pytest_sessionfinish(session):
    left = carriers(SUITE)
    session.config.stash[LEFT] = [described(process) for process in left]
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    for process in left:
        process.kill()


def pytest_terminal_summary(terminalreporter, config):
    if left := config.stash.get(LEFT, []):
        terminalreporter.section("processes that the suite has left running", red=True)
        for line in left:
            terminalreporter.write_line(line)
