"""A place whose subagents start each other, each as its prompt says, and what they were given."""

import json
from contextlib import asynccontextmanager

from acting import ALL, ActingBackend

from ohm_subagents import Ohm
from ohm_subagents.config import judge_call
from ohm_subagents.testing import HERMETIC


class Place:
    """A user's directory with profiles, and a backend that starts what the prompt names: `b/c` is b, which starts c."""

    def __init__(self, root):
        self.user, self.cwd = root / "user", root / "work"
        (self.user / "subagents").mkdir(parents=True)
        self.cwd.mkdir()
        self.requests = {}
        self.ohm = None
        self.envelopes = {}
        self.options = {}

    def profile(self, name, matter=""):
        (self.user / "subagents" / f"{name}.md").write_text(f"---\nsummary: S\n{matter}\n---\nP.")

    async def act(self, request, _sink):
        self.requests[request.profile.id] = request
        first, _, rest = request.prompt.partition("/")
        if first != "stop":
            self.envelopes[first] = (await self.ohm.run(first, rest or "stop", **self.options)).unwrap()
        return "done"

    @asynccontextmanager
    async def open(self, config=None, env=None, plugins=(), capabilities=ALL):
        acting = ActingBackend(self.act, capabilities=capabilities)
        written = {
            "subagentBackend": "acting",
            "subagents": {"budget": {"depth": 9}, "sendToFinished": "resume"} | (config or {}),
        }
        (self.user / "ohm.json").write_text(json.dumps(written))
        env = HERMETIC | {"PI_CONFIG_DIR": str(self.user), "HOME": str(self.user)} | (env or {})
        async with Ohm.open(cwd=self.cwd, env=env, plugins=[acting, *plugins]) as self.ohm:
            yield self.ohm

    async def run(self, first, prompt="stop", **opened):
        async with self.open(**opened) as ohm:
            self.envelopes[first] = (await ohm.run(first, prompt)).unwrap()
        return self.requests

    def told(self, name):
        return [one.text for one in self.diagnostics(name)]

    def diagnostics(self, name):
        return self.ohm.task(self.envelopes[name].task_id).diagnostics

    def judged(self, name, command, cwd=None):
        request = self.requests[name]
        return judge_call(request.call_rules, "bash", {"command": command}, cwd=cwd or request.cwd).verdict
