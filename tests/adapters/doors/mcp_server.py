# /// script
# dependencies = ["mcp"]
# ///
"""The MCP server, and the official client in the same process."""

from door_contract import Delegated
from mcp import Client

from ohm_subagents.mcp import mcp_server


async def delegate(ohm, tool, arguments, **options):
    given = arguments if isinstance(arguments, dict) else {"arguments": arguments}
    async with Client(mcp_server(ohm, **options)) as client:
        result = await client.call_tool(tool, given)
    (part,) = result.content
    return Delegated(part.text, result.is_error, (result.meta or {}).get("ohm/envelope"))
