"""Real MCP servers as child processes: `python mcp_servers.py <kind>`, and how ohm.json names them."""

import base64
import json
import os
import sys
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__)


def entry(kind, *more, **fields):
    """The entry of a server in `mcpServers`."""
    return {"command": sys.executable, "args": [str(HERE), kind, *more], **fields}


def calc(log):
    """A server with a few tools, each for one thing that a test looks at; `log` is a file that it appends to."""
    import anyio
    from mcp.server.mcpserver import Context, MCPServer

    server = MCPServer("calc")
    total = 0

    def note(line):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    note(f"pid {os.getpid()}")

    @server.tool()
    def add(a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)

    @server.tool()
    def count() -> str:
        """Count the calls of this connection."""
        nonlocal total
        total += 1
        return str(total)

    @server.tool()
    def show(name: str) -> str:
        """Show a variable of the environment."""
        return os.environ.get(name, "not set")

    @server.tool()
    def die() -> str:
        """End the process in the middle of a call."""
        os._exit(3)

    @server.tool()
    async def work(ctx: Context) -> str:
        """Report progress and go on until it is cancelled."""
        try:
            await ctx.report_progress(1, 2, "half")
            note("working")
            await anyio.sleep_forever()
        finally:
            note("cancelled")

    add_answers(server)
    add_changes(server)
    return server


def add_answers(server):
    from mcp.server.mcpserver.utilities.types import Image

    @server.tool()
    def fail() -> str:
        """Fail."""
        raise ValueError("no such luck")

    @server.tool()
    def picture() -> Image:
        """Draw."""
        return Image(data=b"PNG" * 100, format="png")

    @server.tool()
    def long() -> str:
        """Say much."""
        return "x" * 300_000


def add_changes(server):
    @server.tool()
    def grow() -> str:
        """Add a tool."""
        server.add_tool(lambda: "new", name="fresh", description="New.")
        return "grown"


ANSWERS = {
    "add": lambda a, b: {"type": "text", "text": str(a + b)},
    "die": lambda: os._exit(3),
    "long": lambda: {"type": "text", "text": "x" * 300_000},
    "picture": lambda: {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"PNG" * 100).decode()},
    "show": lambda name: {"type": "text", "text": os.environ.get(name, "not set")},
    "work": lambda: None,
}


def plain(log):
    """Be `calc` without the library, whose imports take a second: the protocol of 2025-11-25 line by line."""

    def note(line):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def tell(**message):
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    note(f"pid {os.getpid()}")
    for line in sys.stdin:
        message = json.loads(line)
        match message["method"]:
            case "tools/list":
                tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ANSWERS]
                tell(id=message["id"], result={"tools": tools})
            case "tools/call":
                params = message["params"]
                if (content := ANSWERS[params["name"]](**params.get("arguments", {}))) is not None:
                    tell(id=message["id"], result={"content": [content]})
                    continue
                note("working")
                half = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "message": "half"}
                tell(method="notifications/progress", params=half)
            case "notifications/cancelled":
                note("cancelled")
            case _ if "id" in message:
                tell(id=message["id"], **answer("plain", message))


def stumbling(kind):
    """Speak the protocol of 2025-11-25 line by line, up to the fault that is asked for."""
    if kind == "silent":
        sys.stdin.read()
    if kind == "broken":
        sys.exit("cannot find the config")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or (kind == "mute" and message["method"] == "tools/call"):
            continue
        result = answer(kind, message)
        if kind == "grows" and message["method"] == "tools/call":
            kind = "grown"
            sys.stdout.write('{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n')
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], **result})
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def answer(kind, message):
    method = message["method"]
    if method == "initialize":
        info = {"name": kind, "version": "1"}
        version = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        return {"result": version}
    if method == "tools/list":
        names = [f"t{number}" for number in range({"many": 5000, "grown": 2}.get(kind, 1))]
        schema = {"type": "object"}
        if kind == "endless":
            schema["properties"] = {f"p{number}": {"type": "string"} for number in range(5000)}
        return {"result": {"tools": [{"name": name, "inputSchema": schema} for name in names]}}
    if method == "tools/call" and kind == "flood":
        for _ in range(100):
            sys.stdout.write("noise\n" * 100_000)
    if method == "tools/call" and kind == "picture":
        data = base64.b64encode(b"PNG" * 100).decode()
        return {"result": {"content": [{"type": "image", "mimeType": "image/png", "data": data}]}}
    if method == "tools/call" and kind in {"huge", "stream"}:
        return {"result": {"content": [{"type": "text", "text": "x" * 9_000_000}]}}
    return {"error": {"code": -32601, "message": "Method not found"}}


@contextmanager
def web(kind):
    """The URL of a server of the protocol of 2025-11-25 that answers with JSON, up to the fault that is asked for."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "id" not in message:
                self.send_response(202)
                self.end_headers()
                return
            text = json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(kind, message)})
            is_stream, is_zipped = kind == "stream", kind == "zipped" and message["method"] == "tools/call"
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
            if is_zipped:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            with suppress(ConnectionError):
                self.wfile.write(f"data: {text}\n\n".encode() if is_stream else text.encode())
                while kind == "endless" and message["method"] == "tools/call":
                    self.wfile.write(b" " * 100_000)

        def do_GET(self):
            self.send_error(405)

        def do_DELETE(self):
            self.send_error(405)

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()


if __name__ == "__main__":
    kind = sys.argv[1]
    if kind == "calc":
        calc(sys.argv[2]).run("stdio")
    elif kind == "plain":
        plain(sys.argv[2])
    elif kind == "http":
        calc(sys.argv[2]).run("streamable-http", port=int(sys.argv[3]))
    else:
        stumbling(kind)
