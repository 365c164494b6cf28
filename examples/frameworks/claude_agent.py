"""An agent of the Claude Agent SDK gets the tools of an `Ohm`."""

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from ohm_subagents import Ohm
from ohm_subagents.adapters.claude_sdk import server


async def main() -> None:
    async with Ohm.open() as ohm:
        options = ClaudeAgentOptions(mcp_servers={"ohm": server(ohm)}, allowed_tools=["mcp__ohm__task"])
        async with ClaudeSDKClient(options) as client:
            await client.query("Find out how login works.")
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    print(message.result)


if __name__ == "__main__":
    anyio.run(main)
