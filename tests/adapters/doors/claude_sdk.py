# /// script
# dependencies = ["claude-agent-sdk"]
# ///
"""The Claude Agent SDK: a client with our server, and the Claude Code of the package on a model server of our own."""

import json
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import TemporaryDirectory

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from door_contract import Delegated

from ohm_subagents.adapters.claude_sdk import server


class Scripted(ThreadingHTTPServer):
    """An Anthropic service on 127.0.0.1 whose model calls the tool once, then ends."""

    def __init__(self, tool, arguments):
        super().__init__(("127.0.0.1", 0), Answering)
        self.call = {"type": "tool_use", "id": "c1", "name": f"mcp__ohm__{tool}", "input": {}}
        self.written = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        self.read = []

    @contextmanager
    def serving(self):
        """Give the environment in which Claude Code asks this model, and nothing else."""
        threading.Thread(target=self.serve_forever, daemon=True).start()
        with self, TemporaryDirectory(ignore_cleanup_errors=True) as home:
            try:
                yield {
                    "ANTHROPIC_API_KEY": "scripted",
                    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.server_port}",
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                    "ENABLE_TOOL_SEARCH": "false",  # every tool is offered at once
                    "HOME": home,
                }
            finally:
                self.shutdown()


class Answering(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        content = asked["messages"][-1]["content"]
        read = [block for block in content if block["type"] == "tool_result"] if isinstance(content, list) else []
        offered = {tool["name"] for tool in asked.get("tools", ())}
        self.server.read += read
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        message = {"id": "m", "type": "message", "role": "assistant", "model": asked["model"], "content": []}
        self._tell("message_start", message=message | {"usage": {"input_tokens": 1, "output_tokens": 1}})
        if read or self.server.call["name"] not in offered:
            self._block({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn")
        else:
            self._block(self.server.call, self.server.written, "tool_use")

    def _block(self, block, delta, stop_reason):
        self._tell("content_block_start", index=0, content_block=block)
        self._tell("content_block_delta", index=0, delta=delta)
        self._tell("content_block_stop", index=0)
        self._tell("message_delta", delta={"stop_reason": stop_reason}, usage={"output_tokens": 1})
        self._tell("message_stop")

    def _tell(self, kind, **fields):
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())


async def delegate(ohm, tool, arguments, **options):
    model = Scripted(tool, arguments)
    with model.serving() as env:
        options = ClaudeAgentOptions(
            mcp_servers={"ohm": server(ohm, **options)},
            allowed_tools=["mcp__ohm__task"],
            setting_sources=[],
            env=env | {"PATH": os.environ["PATH"]},
        )
        async with ClaudeSDKClient(options) as client:
            await client.query("Go.")
            async for _message in client.receive_response():
                pass
    (read,) = model.read
    content = read["content"]
    return Delegated(content if isinstance(content, str) else content[0]["text"], read.get("is_error", False))
