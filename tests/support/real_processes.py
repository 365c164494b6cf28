"""A pytest plugin: real processes under a supervisor; nothing that a test started may be left after it."""

import os
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from leaks import MARKER, described, marked_processes

from ohm_subagents.shell.process import Launch

PYTHON = (sys.executable, "-I", "-S", "-c")


class Started:
    """Makes launches whose processes all carry a mark of this test."""

    def __init__(self, marker, cwd):
        self.mark = uuid4().hex
        self.env = {"PATH": os.environ["PATH"], MARKER: f"{marker}/{self.mark}"}
        self.cwd = cwd

    def command(self, *command, **options):
        return Launch(**{"command": command, "cwd": self.cwd, "env": self.env} | options)

    def sh(self, script, **options):
        return self.command("sh", "-c", script, **options)

    def python(self, script, *arguments, **options):
        return self.command(*PYTHON, script, *map(str, arguments), **options)

    @property
    def left(self):
        return [described(process) for process in marked_processes(self.mark)]


@pytest.fixture
def started(suite_marker, tmp_path):
    """Launches for this test, and the check that none has left anything."""
    launches = Started(suite_marker, Path(tmp_path))
    yield launches
    assert launches.left == []
