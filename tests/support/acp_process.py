"""A real `ohm acp`, spoken to line by line, on the backend `stage`."""

import subprocess
from contextlib import contextmanager

from command_line import EXECUTABLE
from deafness import hearing
from mcp_process import McpProcess, place_of, request


def initialize(version=1, request_id=0):
    return request(request_id, "initialize", {"protocolVersion": version, "clientCapabilities": {}})


def new_session(cwd, request_id=1):
    return request(request_id, "session/new", {"cwd": f"{cwd}", "mcpServers": []})


def prompt(request_id, session, text):
    return request(request_id, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})


class AcpProcess(McpProcess):
    def begin(self, cwd):
        """Shake hands and begin a session; return its id."""
        self.write(initialize(), new_session(cwd))
        return self.answer(1)["result"]["sessionId"]


@contextmanager
def acp_process(home, *arguments, **options):
    command = [str(EXECUTABLE), "acp", *arguments]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with hearing():
        process = subprocess.Popen(command, **pipes, cwd=home, env=place_of(home, **options))
    with process:
        try:
            yield AcpProcess(process, home)
        finally:
            process.kill()
