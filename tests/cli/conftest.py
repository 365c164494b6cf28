"""`ohm` in an empty home, with the `stage` backend installed: called in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import leaks
import pytest
from command_line import EXECUTABLE, Done, in_a_process, in_this_process
from deafness import hearing
from forking import Process, started

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping


@dataclass
class Place:
    """An empty home, the user's configuration in it, and a project; `env` is what a command is started with."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("home", "config", "project"):
            (self.root / name).mkdir()
        for fifo in (self.reached, self.released):
            os.mkfifo(fifo)
        self.env |= {
            "PATH": os.environ["PATH"],
            leaks.MARKER: os.environ[leaks.MARKER],
            "HOME": str(self.root / "home"),
            "PI_CONFIG_DIR": str(self.root / "config"),
            "PYTHONPATH": str(Path(__file__).parent / "plugin"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "OHM_TEST_REACHED": str(self.reached),
            "OHM_TEST_RELEASED": str(self.released),
        }

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def reached(self) -> Path:
        return self.root / "reached"

    @property
    def released(self) -> Path:
        return self.root / "released"

    def configure(self, config: Mapping[str, object] | str) -> Path:
        path = self.root / "config" / "ohm.json"
        path.write_text(config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
        return path


@dataclass
class Ohm(Place):
    """The command, called in this process."""

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Done:
        return in_this_process(*arguments, cwd=self.project, env=self.env, stdin=stdin)


@dataclass(frozen=True)
class OhmProcess:
    """The program, for tests about processes: signals, terminals, pipes that close."""

    place: Place

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Done:
        return in_a_process(*arguments, cwd=self.place.project, env=self.place.env, stdin=stdin)

    def command(self, *arguments: str) -> list[str]:
        return [str(EXECUTABLE), *arguments]

    @contextmanager
    def start(self, *arguments: str, **streams: int) -> Generator[Process, None, None]:
        """A running `ohm`; a test that fails does not leave it behind."""
        streams = streams or {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        with started(self.command(*arguments), cwd=self.place.project, env=self.place.env, **streams) as process:
            yield process


@pytest.fixture(autouse=True)
def _as_from_a_terminal() -> Iterator[None]:
    """An `ohm` honours `nohup`; these are not started by one, whatever the tests are."""
    with hearing():
        yield


@pytest.fixture
def ohm(tmp_path: Path) -> Ohm:
    cli = Ohm(tmp_path)
    cli.configure({"subagentBackend": "none", "suites": ["task"]})
    return cli


@pytest.fixture
def ohm_process(ohm: Ohm) -> OhmProcess:
    return OhmProcess(ohm)
