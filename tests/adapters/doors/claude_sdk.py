# /// script
# dependencies = ["claude-agent-sdk"]
# ///
"""The Claude Agent SDK: a client with our server, whose transport plays Claude Code."""

import json
import math

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Transport
from door_contract import Delegated

from ohm_subagents.adapters.claude_sdk import server

VERSION = "2025-06-18"
HELLO = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "scripted", "version": "1"}}
ENDED = {"subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1}


class Scripted(Transport):
    """Greets the server, calls the tool once, then ends."""

    def __init__(self, tool, arguments):
        self._asks = [
            {"id": 1, "method": "initialize", "params": HELLO},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
        ]
        self._said, self._heard = anyio.create_memory_object_stream(math.inf)
        self.read = None

    async def connect(self):
        pass

    async def close(self):
        self._said.close()

    async def end_input(self):
        pass

    def is_ready(self):
        return True

    async def read_messages(self):
        async for message in self._heard:
            yield message

    async def write(self, data):
        message = json.loads(data)
        match message:
            case {"type": "control_request", "request_id": request}:
                self._answer(request)
            case {"type": "control_response", "response": {"response": {"mcp_response": answer}}}:
                self.read = answer["result"]
                self._go_on()
            case {"type": "user"}:
                self._go_on()

    def _answer(self, request):
        answer = {"subtype": "success", "request_id": request, "response": {}}
        self._said.send_nowait({"type": "control_response", "response": answer})

    def _go_on(self):
        if not self._asks:
            self._said.send_nowait({"type": "result", "session_id": "s", **ENDED})
            return
        asked = {"subtype": "mcp_message", "server_name": "ohm", "message": {"jsonrpc": "2.0", **self._asks.pop(0)}}
        self._said.send_nowait({"type": "control_request", "request_id": f"r{len(self._asks)}", "request": asked})


async def delegate(ohm, tool, arguments):
    played = Scripted(tool, arguments)
    options = ClaudeAgentOptions(mcp_servers={"ohm": server(ohm)})
    async with ClaudeSDKClient(options, transport=played) as client:
        await client.query("Go.")
        async for _message in client.receive_response():
            pass
    (content,) = played.read["content"]
    return Delegated(content["text"], played.read["isError"])
