"""Give a subagent the tools of an MCP server, which is started when it is needed and ends with the `Ohm`."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import anyio

from ohm_subagents import Err, Ohm, Ok
from ohm_subagents.contract import Profile, ToolPolicy
from ohm_subagents.plugin import ModelPattern, ModelSpec, OhmError, Result, hookimpl

if TYPE_CHECKING:
    from pydantic_ai.models import Model

SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("calc")


@server.tool()
def answer() -> str:
    "Return the answer."
    return "42"


server.run("stdio")
"""
SERVERS = {"calc": {"command": sys.executable, "args": ["-c", SERVER]}}
THINKER = Profile(
    id="thinker", name="Thinker", summary="Thinks.", prompt="Think.", tools=ToolPolicy(allowed=("mcp__calc__*",))
)


class Dutiful:
    """Stands in for a model: it calls each tool that it has, and repeats what they say."""

    @hookimpl
    def ohm_models(self) -> Iterable[ModelSpec]:
        yield ModelSpec(provider="dutiful", summary="Calls every tool.", open=self.open)

    def open(self, pattern: ModelPattern) -> "Result[Model, OhmError]":
        from pydantic_ai.models.test import TestModel  # noqa: PLC0415  slow, so not before a run needs it

        return Ok(TestModel(model_name=pattern.model))


async def main() -> None:
    config = {"mcpServers": SERVERS, "subagents": {"model": "dutiful/one"}}
    async with Ohm.open(config=config, plugins=[Dutiful()], profiles=[THINKER]) as ohm:
        match await ohm.run("thinker", "What is the answer?"):
            case Ok(envelope):
                print(envelope.output)
            case Err(error):
                print(error)


anyio.run(main)

# Prints:
# {"mcp__calc__answer":"42"}
