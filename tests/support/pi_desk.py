"""The desk of real `pi`s in a test: on a scripted model, in a home and a folder of their own."""

import json
import os
import select
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
from anyio import to_thread

from ohm_subagents import Ohm
from ohm_subagents.shell.process import MARKER
from ohm_subagents.testing import HERMETIC

GRACE_MS = 2_000
SETTINGS = {"retry": {"baseDelayMs": 5}}
LOGIN = {"anthropic": {"type": "api_key", "key": "sk-a-login-of-the-user"}}
FOREIGN = {"OPENAI_API_KEY": "sk-foreign", "ANTHROPIC_API_KEY": "sk-foreign", "SOME_TOKEN": "sk-foreign"}


class Desk:
    """A home with the files of a user, a working directory, and an `Ohm` whose subagents are this `pi`."""

    def __init__(self, folder, pi):
        self.pi = pi
        self.home = folder / "home"
        self.agent = self.home / ".pi" / "agent"
        self.work = folder / "work"
        self.temporary = folder / "tmp"
        for each in (self.agent, self.work, self.temporary):
            each.mkdir(parents=True)
        (self.agent / "settings.json").write_text(json.dumps(SETTINGS))
        (self.agent / "models.json").write_text(json.dumps({"providers": {}}))
        login = self.agent / "auth.json"
        login.touch(mode=0o600)
        login.write_text(json.dumps(LOGIN))

    @property
    def env(self):
        ours = {"HOME": str(self.home), "PATH": os.environ["PATH"], "ACME_KEY": "sk-acme", "PI_OFFLINE": "1"}
        return HERMETIC | FOREIGN | ours | {"PI_CODING_AGENT_DIR": str(self.agent)}

    def config(self, server, **options):
        shell = {"command": list(self.pi.command), "graceMs": GRACE_MS, **options}
        return {
            "subagentBackend": "interactive-shell",
            "subagents": {
                "model": "acme/m1",
                "sendToFinished": "resume",
                "backends": {"interactive-shell": shell},
            },
            "providers": {
                "acme": {
                    "baseUrl": server.url,
                    "apiKeyEnv": "ACME_KEY",
                    "models": [{"id": "m1", "contextWindow": 100_000}],
                }
            },
        }

    @asynccontextmanager
    async def ohm(self, server, **options):
        async with Ohm.open(cwd=self.work, env=self.env, config=self.config(server, **options)) as ohm:
            yield ohm

    def fifo(self, name="fifo"):
        """A place where a tool can wait for the test, or the test for a tool."""
        path = self.work / name
        os.mkfifo(path)
        return path

    def processes(self):
        """Return what runs with a marker of ours in this home."""
        return [one for one in psutil.process_iter() if self._is_here(one)]

    def _is_here(self, process):
        try:
            env = process.environ()
        except psutil.Error:
            return False
        return MARKER in env and env.get("HOME") == str(self.home)

    def agents(self):
        """Of these, the `pi`s themselves; they give themselves another title."""
        return [one for one in self.processes() if Path(one.exe()).name == "node"]


async def said(fifo):
    """Return what a tool writes to the place, once it does."""
    return (await to_thread.run_sync(Path(fifo).read_text, abandon_on_cancel=True)).strip()


async def say(fifo, text="go\n"):
    """Let the tool go on that reads from the place."""
    await to_thread.run_sync(Path(fifo).write_text, text, abandon_on_cancel=True)


def is_gone(pid, within_s):
    """Return True if a process has ended, or does so in time."""
    try:
        end = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([end], [], [], within_s)[0])
    finally:
        os.close(end)


async def gone(pid, within_s=60.0):
    return await to_thread.run_sync(is_gone, int(pid), within_s)
