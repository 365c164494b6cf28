"""A real `ohm mcp`, spoken to line by line."""

import json
import os
import subprocess
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import psutil
from command_line import EXECUTABLE
from deafness import hearing

PATIENCE_S = 60
TOKEN = "OHM_MCP_TOKEN"
OLD, NEW = "2025-11-25", "2026-07-28"
CLIENT = {"name": "test", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(request_id, method, params=None, *, era=OLD):
    params = dict(params or {}) if era == OLD else {"_meta": META, **(params or {})}
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def initialize(version=OLD, request_id=0):
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    return request(request_id, "initialize", params)


def call(request_id, prompt="p", *, era=OLD, **more):
    arguments = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": prompt}
    return request(request_id, "tools/call", {"name": "task", "arguments": arguments, **more}, era=era)


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


STAGE = Path(__file__).parents[1] / "cli" / "plugin"
"""The backend `stage`: the prompt says what happens, two FIFOs say when."""


class McpProcess:
    """`ohm mcp` in a home of its own, on the backend `stage`."""

    def __init__(self, process, home):
        self.process = process
        self._reached = home / "reached"

    def write(self, *messages):
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self):
        """Return the next message."""
        return json.loads(self.process.stdout.readline())

    def answer(self, request_id):
        """Return the next answer to a request, past everything else."""
        while (message := self.read()).get("id") != request_id or "method" in message:
            pass
        return message

    def reached(self):
        """Wait until the backend has come to where it says so; return its word, of `hang` the id of its child."""
        return self._reached.read_text()

    def ended(self):
        """Close the stream as a client does; return the exit code, what was left to read, and the complaints."""
        said, told = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, [json.loads(line) for line in said.splitlines()], told.decode()

    def cpu_s(self):
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system


def place_of(home, config='{"subagentBackend": "stage"}', **env):
    """Make a home for a server; return its environment."""
    (home / "ohm.json").write_text(config)
    for fifo in (home / "reached", home / "released"):
        if not fifo.exists():
            os.mkfifo(fifo)
    fixed = {"PI_CONFIG_DIR": home, "HOME": home, "PYTHONPATH": STAGE}
    fifos = {"OHM_TEST_REACHED": home / "reached", "OHM_TEST_RELEASED": home / "released"}
    return {**os.environ, **{name: f"{value}" for name, value in (fixed | fifos | env).items()}}


class McpListener:
    """`ohm mcp --http` in a home of its own, on the backend `stage`."""

    def __init__(self, process, home):
        self.process = process
        self._reached = home / "reached"
        self._closing = ExitStack()
        told = []
        while not told or "http://" not in told[-1]:  # a warning may come before it
            told.append(process.stderr.readline().decode())
            assert told[-1], "".join(told)
        self.url = told[-1].split()[-1]
        self.token = process.told_env.get(TOKEN) or told[-2].split()[4]

    def reached(self):
        """Wait until the backend has come to where it says so; return its word, of `hang` the id of its child."""
        return self._reached.read_text()

    def post(self, message, **headers):
        """Send a message; return the response, whose body may be to come. A header that is None is left out."""
        response = self.sent(message, **headers).getresponse()
        self._closing.callback(response.close)
        return response

    def sent(self, message, **headers):
        """Send a message; return the connection."""
        common = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        accept = {"Accept": "application/json, text/event-stream"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in (common | accept | given).items() if value is not None}
        port = int(self.url.split(":")[2].split("/")[0])
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self._closing.callback(connection.close)
        connection.request("POST", "/mcp", json.dumps(message).encode(), sent)
        return connection

    def close(self):
        self._closing.close()


@contextmanager
def mcp_listener(home, *arguments, **options):
    command = [str(EXECUTABLE), "mcp", "--http", "0", *arguments]
    env = place_of(home, **options)
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=home, env=env) as process:
        process.told_env = env
        try:
            with closing(McpListener(process, home)) as listener:
                yield listener
        finally:
            process.terminate()


@contextmanager
def mcp_process(home, *arguments, **options):
    command = [str(EXECUTABLE), "mcp", *arguments]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with hearing():
        process = subprocess.Popen(command, **pipes, cwd=home, env=place_of(home, **options))
    with process:
        try:
            yield McpProcess(process, home)
        finally:
            process.kill()
