"""Every known way out of a sandbox, with both mechanisms, as root and as nobody: what is outside stays as it was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from ohm_subagents.sandbox import Box, SandboxRules, this_machine

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]
HERE = Path(__file__).parent
NOBODY = 65534
LEFT_TO_LANDLOCK = {
    "look up the size of a file",
    "read the command line of a process",
    "change the mode of a file",
    "change the owner of a file",
    "change the times of a file",
    "slow a process down",
    "plant a hook",
    "name a program in the settings of git",
    "put another repository in place",
}
"""The attempts that Landlock does not stop, as docs/guides/sandbox.md says; bubblewrap stops all."""


class Outside:
    """A directory with a secret and a repository, whose clone is the workspace; all belongs to `uid`."""

    def __init__(self, root: Path, uid: int) -> None:
        self.root, self.uid = root, uid
        self.outer, self.workspace, self.private = root / "outer", root / "workspace", root / "private"
        self.python = sys.executable if uid == os.getuid() else (shutil.which("python3", path=os.defpath) or "")
        self.token = uuid4().hex

    @property
    def prefix(self) -> tuple[str, ...]:
        if self.uid == os.getuid():
            return ()
        return ("setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups")

    def run(self, *command: str, **given: Any) -> subprocess.CompletedProcess[str]:
        given["env"] = {"PATH": "/usr/bin:/bin", "HOME": f"{self.private}", **given.get("env", {})}
        check = given.pop("check", False)
        return subprocess.run((*self.prefix, *command), check=check, text=True, capture_output=True, **given)

    def build(self) -> None:
        for folder in (self.outer, self.workspace, self.private):
            folder.mkdir()
            os.chown(folder, self.uid, self.uid)
        script = """
            set -e; umask 077; printf %s "$1" > secret; git init -q repo; cd repo; echo public > a.txt
            printf %s "$1" > private.txt; git add .; git -c user.name=a -c user.email=a@b commit -qm first
            git clone -q --shared . "$2"
        """
        self.run("sh", "-c", script, "sh", self.token, f"{self.workspace}", cwd=self.outer, check=True)
        for program in ("escapes.py", "limited.py"):
            shutil.copy(HERE / program, self.workspace)

    def box(self, mechanism: Any) -> Box:
        machine = this_machine()
        return Box(
            mechanism=mechanism,
            program=machine.bubblewrap,
            workspace=self.workspace,
            home=self.private / "home",
            rules=SandboxRules(file_mb=64),
        ).with_needs(reads=(self.outer / "repo" / ".git" / "objects",))

    def tried(self, box: Box | None) -> dict[str, str]:
        """Run all attempts in a box; return the evidence of those that succeeded."""
        with self.victim() as facts:
            done = self.boxed(box, "escapes.py", json.dumps(facts))
        found: dict[str, str] = json.loads(done)
        return found

    def boxed(self, box: Box | None, *words: str) -> str:
        """Run a program in a box; return what it says."""
        env = {"PATH": "/usr/bin:/bin", "HOME": f"{self.private / 'home'}"}
        command = (self.python, *words)
        if box is not None:
            held = box.around(command, cwd=self.workspace, env=env, folder=self.private, dies_with_us=False)
            for made in self.private.iterdir():
                os.chown(made, self.uid, self.uid)
            command, env = (self.python, *held.command[1:]), {**held.env}
        done = self.run(*command, cwd=self.workspace, env=env, start_new_session=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def victim(self) -> Iterator[dict[str, Any]]:
        shutil.copy(HERE / "victim.py", self.private)
        command = (*self.prefix, self.python, f"{self.private}/victim.py", f"{self.outer}", self.token)
        env = {"SECRET": self.token}
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            (blob,) = self.run("git", "hash-object", "a.txt", cwd=self.outer / "repo", check=True).stdout.split()
            yield {**told, "outer": f"{self.outer}", "token": self.token, "blob": blob}
            process.stdin.close()

    def fingerprint(self) -> dict[str, bytes]:
        """The names and the bytes of all that is outside."""
        found = {}
        for folder, names, files in os.walk(self.outer):
            found |= {f"{folder}/{name}/": b"" for name in names}
            for name in (one for one in files if one != "socket"):
                file = Path(folder, name)
                found[f"{file}"] = b"" if not file.is_file() else file.read_bytes()
        return found


@pytest.fixture(params=["as it is", "nobody"])
def outside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    uid = os.getuid() if request.param == "as it is" else NOBODY
    if uid != os.getuid() and os.getuid() != 0:
        pytest.skip("only root becomes nobody; the other case is one without root already")
    with TemporaryDirectory(prefix="escapes-", dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        outside = Outside(Path(folder), uid)
        if not outside.python:
            pytest.skip("nobody has no Python here that it may run")
        if uid != os.getuid():  # nobody has another interpreter
            monkeypatch.setattr(sys, "prefix", "/usr")
            monkeypatch.setattr(sys, "base_prefix", "/usr")
        outside.build()
        yield outside


def skip_without(mechanism: str) -> None:
    machine = this_machine()
    if mechanism != machine.mechanism and (machine.closed if mechanism == "bubblewrap" else not machine.landlock):
        pytest.skip(f"this machine has no {mechanism}: {machine}")


@pytest.mark.parametrize(("mechanism", "expected"), [("bubblewrap", set()), ("landlock", LEFT_TO_LANDLOCK)])
def test_nothing_outside_is_read_or_changed(outside: Outside, mechanism: str, expected: set[str]) -> None:
    skip_without(mechanism)
    before = outside.fingerprint()
    found = outside.tried(outside.box(mechanism))
    kept = {"slow a process down"} if outside.uid == 0 else set[str]()  # by the rights of root, which it has no more
    assert found.keys() == expected - kept, found
    assert outside.fingerprint() == before


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
def test_each_limit_holds_but_for_the_number_of_processes_of_root(outside: Outside, mechanism: str) -> None:
    skip_without(mechanism)
    rules = SandboxRules(file_mb=1, memory_mb=256, cpu_s=1, processes=100)
    told = json.loads(outside.boxed(replace(outside.box(mechanism), rules=rules), "limited.py"))
    processes = "nothing" if outside.uid == 0 else "Resource temporarily unavailable"
    assert told == ["File too large", "MemoryError", "SIGKILL", processes]


def test_without_a_sandbox_most_attempts_succeed(outside: Outside) -> None:
    """A corpus that fails on its own would say nothing. Not as root, who could do harm."""
    if outside.uid == 0:
        pytest.skip("root without a sandbox may mount and set what outlives the test")
    assert len(outside.tried(None)) > 40
