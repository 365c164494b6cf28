"""A process with an MCP server, whose client was sent away with the requests of its call; it may be killed at any time.

`python mcp_asking_process.py <directory> <paths>` says the result of the client's round: `requestState` and
`inputRequests`. The subagent is that of `asking_process`.
"""

import sys
from pathlib import Path

import anyio
from asking_process import EditingModel, opened, prompt
from mcp import Client

from ohm_subagents.mcp import mcp_server


async def unasked(_context, _params):
    raise AssertionError("the rounds of this client are made by hand")


def client_of(ohm):
    """A client that shows forms."""
    return Client(mcp_server(ohm), elicitation_callback=unasked)


async def a_round(client, paths, **more):
    """Make one round of a call; return its result, or what has to be answered first."""
    arguments = {"op": "start", "subagent_type": "task", "description": "d", "prompt": prompt(paths, 1)}
    return await client.session.call_tool("task", arguments, allow_input_required=True, **more)


async def main(directory: Path, paths: str) -> None:
    model = EditingModel(directory)
    async with opened(directory, model) as ohm, client_of(ohm) as client:
        required = await a_round(client, paths)
        await ohm.store.flush()
        sys.stdout.write(required.model_dump_json(by_alias=True) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
