"""An echo prompt through `ohm acp`, beside the run in a program; each continues one session."""

import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from stopwatch import repeating

from ohm_subagents import Ohm

CONFIG = '{"subagentBackend": "none", "subagents": {"store": "sqlite"}}'
OHM = str(Path(sys.executable).with_name("ohm"))


@asynccontextmanager
async def call(way):
    """Seconds for one prompt: of a program, or of the client of the protocol's library over standard streams."""
    with TemporaryDirectory(prefix="ohm-bench-") as folder:
        env = {"PI_CONFIG_DIR": folder, "OHM_SUBAGENTS_LOAD_PLUGINS": "sqlite,echo", "PATH": os.environ["PATH"]}
        (Path(folder) / "ohm.json").write_text(CONFIG)
        async with {"program": program, "stdio": stdio}[way](folder, env) as prompt:
            yield repeating(prompt, 5)


@asynccontextmanager
async def program(folder, env):
    async with Ohm.open(cwd=folder, env=env) as ohm:

        async def prompt():
            (await ohm.run("finder", "Do it.", session="s", cwd=folder)).unwrap()

        yield prompt


class Editor:
    async def session_update(self, session_id, update, **_more):
        pass


@asynccontextmanager
async def stdio(folder, env):
    import acp

    arguments = (OHM, "acp", "--agent", "finder")
    async with acp.spawn_agent_process(Editor(), *arguments, env=env, cwd=folder) as (agent, _):
        session = await agent.new_session(cwd=folder, mcp_servers=[])
        text = [acp.text_block("Do it.")]

        async def prompt():
            answer = await agent.prompt(session_id=session.session_id, prompt=text)
            assert answer.stop_reason == "end_turn"

        yield prompt
