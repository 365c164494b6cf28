"""`sandboxRules.network` with servers: a command reaches these by host and port, and nothing else."""

from __future__ import annotations

import socket
import sys
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import anyio
import pytest
from loops import real_clocks_slow_on_trio

from ohm_subagents.sandbox import Box, SandboxRules, this_machine
from ohm_subagents.sandbox.proxy import Proxy, proxied

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough for most: what differs is below it."""
    return "asyncio"


_CLIENT = """
import http.client, os, socket, sys, urllib.request
host, port, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
try:
    if way == "direct":
        socket.create_connection((host, port), 5)
    elif way == "http":
        print(urllib.request.urlopen(f"http://{host}:{port}/there?a=b", timeout=10).read().decode(), end="")
    else:
        proxy = os.environ["https_proxy"].rpartition("/")[2]
        tunnel = http.client.HTTPConnection(proxy, timeout=10)
        tunnel.set_tunnel(host, port)
        tunnel.request("GET", "/there?a=b")
        print(tunnel.getresponse().read().decode(), end="")
except OSError as error:
    print(error, end="")
"""


class _Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"{self.path} of {self.headers['Host'].partition(':')[0]}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Generator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        thread = Thread(target=partial(server.serve_forever, 0.05), daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


async def told(tmp_path: Path, network: Sequence[str], *words: str, program: str = _CLIENT) -> str:
    """Return what a program says that is started in a sandbox which reaches these servers."""
    workspace, home = tmp_path / "project", tmp_path / "home"
    workspace.mkdir(exist_ok=True)
    machine = this_machine()
    assert machine.mechanism == "bubblewrap"
    rules = SandboxRules(network=tuple(network))
    box = Box(mechanism="bubblewrap", program=machine.bubblewrap, workspace=workspace, home=home, rules=rules)
    async with proxied(box) as reaching:
        command = (sys.executable, "-I", "-c", program, *words)
        held = reaching.around(command, cwd=workspace, env={"PATH": "/usr/bin:/bin"}, folder=tmp_path)
        ended = await anyio.run_process(held.command, env=held.env, cwd=workspace, check=False)
    return (ended.stdout + ended.stderr).decode()


@real_clocks_slow_on_trio
async def test_a_command_reaches_a_server_that_is_named_through_http_and_through_a_tunnel(tmp_path: Path) -> None:
    with serving() as port:
        for way in ("http", "tunnel"):
            said = await told(tmp_path, [f"localhost:{port}"], "localhost", f"{port}", way)
            assert said == "/there?a=b of localhost"


@pytest.mark.parametrize("way", [pytest.param("http", marks=pytest.mark.slow), "tunnel", "direct"])
async def test_it_reaches_no_other_port_no_other_name_and_nothing_around_the_proxy(tmp_path: Path, way: str) -> None:
    with serving() as port:
        named = [f"localhost:{port}"] if way == "direct" else ["localhost:1", f"other:{port}", f"*.localhost:{port}"]
        said = await told(tmp_path, named, "localhost", f"{port}", way)
    if way == "direct":
        assert "Connection refused" in said
    else:
        assert "403" in said
        assert "there" not in said


async def test_a_command_that_hands_in_what_is_no_port_gets_nothing_by_it(tmp_path: Path) -> None:
    program = """
import os, socket
(path,) = [line.split()[4] for line in open("/proc/self/mountinfo") if line.split()[4].endswith("/socket")]
sockets = socket.socket(), *socket.socketpair()
for descriptor in (os.open("/etc/passwd", os.O_RDONLY), *(one.fileno() for one in sockets)):
    door = socket.socket(socket.AF_UNIX)
    door.connect(path)
    socket.send_fds(door, [b"+"], [descriptor])
    print(door.recv(9), end="")
"""
    assert await told(tmp_path, ["localhost:1"], program=program) == "b''" * 4


@pytest.mark.parametrize(
    ("host", "port", "is_allowed"),
    [
        ("pypi.org", 443, True),
        ("pypi.org", 80, False),
        ("evil-pypi.org", 443, False),
        ("a.b.example.com", 80, True),
        ("example.com", 80, False),
        ("notexample.com", 80, False),
        ("::1", 8080, True),
    ],
)
def test_a_server_is_one_by_its_whole_name_and_its_port(host: str, port: int, is_allowed: bool) -> None:
    proxy = Proxy(["pypi.org:443", "*.example.com:80", "[::1]:8080"])
    assert proxy.allows(host, port) is is_allowed


async def test_what_is_no_request_is_refused_in_a_sentence(tmp_path: Path) -> None:
    program = """
import socket
for request in (b"GET / HTTP/1.1", b"CONNECT localhost HTTP/1.1", b"GET ftp://localhost/ HTTP/1.1", b"nonsense"):
    proxy = socket.create_connection(("127.0.0.1", 18080))
    proxy.sendall(request + b"\\r\\n\\r\\n")
    print(proxy.recv(999).partition(b" ")[2][:3].decode(), end=" ")
"""
    assert await told(tmp_path, ["localhost:1"], program=program) == "400 400 400 400 "


async def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    assert "502" in await told(tmp_path, [f"127.0.0.1:{port}"], "127.0.0.1", f"{port}", "http")
