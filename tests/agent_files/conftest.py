import pytest

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step


class Desk:
    """A user's home and a project, and what an `Ohm` there makes of the agent files in them."""

    def __init__(self, root):
        self.home, self.cwd = root / "home", root / "project"
        self.backend = ScriptedBackend(default=Step(text="done"))
        self.home.mkdir()
        self.cwd.mkdir()

    def write(self, path, text, *, user=False):
        file = (self.home if user else self.cwd) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def opened(self, *formats, aliases=None, trust=False, **subagents):
        env = HERMETIC | {"HOME": str(self.home)}
        settings = {"agentFiles": list(formats), "modelAliases": aliases or {}, **subagents}
        config = {"subagentBackend": "scripted", "subagents": settings}
        return Ohm.open(cwd=self.cwd, env=env, config=config, plugins=[self.backend], trust=trust)

    async def read(self, *formats, **named):
        """Return the agents of files by id, and all diagnostics as texts."""
        async with self.opened(*formats, **named) as ohm:
            agents = {one.id: one for one in ohm.inspect().profiles if one.suite == "agent-files"}
            return agents, [str(one) for one in ohm.diagnostics]


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)
