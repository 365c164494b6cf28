"""A follow-up to a nested pi, measured beside a new process for each, and beside the model's own time."""

import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from model_server import ModelServer, Say
from real_pi import installed

from ohm_subagents import Ohm


@asynccontextmanager
async def follow_up(version, mode="auto"):
    """Seconds for a `send` that continues a finished task, from the call to its answer."""
    with TemporaryDirectory(prefix="ohm-bench-") as folder, ModelServer(lambda _request: Say("done")) as server:
        config = {
            "subagentBackend": "interactive-shell",
            "subagents": {
                "model": "fake/fake-1",
                "store": "memory",
                "sendToFinished": "resume",
                "backends": {"interactive-shell": {"command": list(installed(version).program), "mode": mode}},
            },
            "providers": {"fake": {"baseUrl": server.url, "models": ["fake-1"]}},
        }
        env = {"HOME": folder, "OHM_SUBAGENTS_LOAD_PLUGINS": "none", "PATH": os.environ["PATH"]}
        async with Ohm.open(cwd=folder, config=config, env=env) as ohm:
            first = await ohm.call("task", {"op": "start", "subagent_type": "task", "description": "d", "prompt": "p"})
            task_id = first.details["task_id"]

            async def repeat():
                nonlocal task_id
                begun = perf_counter()
                sent = await ohm.call("task", {"op": "send", "id": task_id, "prompt": "more"})
                seconds = perf_counter() - begun
                assert not sent.is_error, sent.text
                task_id = sent.details["task_id"]
                return seconds

            yield repeat


@asynccontextmanager
async def model_alone():
    """Seconds for one streamed request to the same model by pydantic-ai, on a connection that is open."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    with ModelServer(lambda _request: Say("done")) as server:
        agent = Agent(OpenAIChatModel("fake-1", provider=OpenAIProvider(base_url=server.url, api_key="none")))

        async def repeat():
            begun = perf_counter()
            async with agent.run_stream("more") as answer:
                await answer.get_output()
            return perf_counter() - begun

        yield repeat
