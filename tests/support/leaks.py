"""A pytest plugin: whatever real process the suite starts carries its marker, and one that is left fails the run.

Our own environment hands the marker on to hosts that a test starts; a test that makes an environment of its own takes
the marker from the fixture `suite_marker`. A worker of a parallel run tells the process that started it what it left.
"""

import os
import time
from contextlib import suppress
from uuid import uuid4

import psutil
import pytest

MARKER = "OHM_SUBAGENT_RUN_ID"
SUITE = uuid4().hex
LEFT = pytest.StashKey[list[str]]()


def marked_processes(mark):
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
    """Return its command, and what tells the test that started it: its marker, its directory and its age."""
    try:
        command, environ = " ".join(process.cmdline()), process.environ()
        place = f"in {process.cwd()}, {environ.get('PYTEST_CURRENT_TEST', 'no test')}, marker {environ[MARKER]}"
        return f"{process.pid}: {command} ({place}, for {time.time() - process.create_time():.0f} s)"
    except psutil.Error as error:
        return str(error)


def pytest_configure(config):
    del config
    outer = os.environ.get(MARKER)
    os.environ[MARKER] = f"{outer}/{SUITE}" if outer else SUITE


@pytest.fixture(scope="session")
def suite_marker():
    return os.environ[MARKER]


@pytest.hookimpl(trylast=True)  # a parallel run ends its workers first
def pytest_sessionfinish(session):
    told = []
    while left := marked_processes(SUITE):  # again: one may have begun another before it was killed
        told += [described(process) for process in left]
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=1)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = told
    elif session.config.stash.setdefault(LEFT, []) or told:
        session.config.stash[LEFT] += told
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """A worker that crashed has told nothing; what it left carries our own mark too, and we look when it is gone."""
    node.config.stash.setdefault(LEFT, []).extend(getattr(node, "workeroutput", {}).get("left", []))


def pytest_terminal_summary(terminalreporter, config):
    if left := config.stash.get(LEFT, []):
        terminalreporter.section("processes that the suite has left running", red=True)
        for line in left:
            terminalreporter.write_line(line)
