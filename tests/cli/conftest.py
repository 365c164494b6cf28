"""A real `ohm` in an empty home, with the `stage` backend installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import leaks
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

EXECUTABLE = Path(sys.executable).with_name("ohm")
PATIENCE_S = 60


@dataclass
class Cli:
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
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "OHM_TEST_REACHED": str(self.reached),
            "OHM_TEST_RELEASED": str(self.released),
        }

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

    def command(self, *arguments: str) -> list[str]:
        return [str(EXECUTABLE), *arguments]

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.root / "project",
            env=self.env,
            capture_output=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=False,
        )

    @contextmanager
    def start(self, *arguments: str, **streams: int) -> Generator[subprocess.Popen[bytes], None, None]:
        """A running `ohm`; a test that fails does not leave it behind."""
        streams = streams or {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        command = self.command(*arguments)
        with subprocess.Popen(command, cwd=self.root / "project", env=self.env, **streams) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture
def ohm(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path)
    cli.configure({"subagentBackend": "none", "suites": ["task"]})
    return cli
