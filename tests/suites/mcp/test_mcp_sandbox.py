"""MCP servers in the sandbox of a run: real ones, which try to read a secret and to write outside of the workspace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.contract import Profile, ToolPolicy
from ohm_subagents.plugin import Backend, BackendSpec, Capability, Ok, Options, RunOutput, hookimpl
from ohm_subagents.suite import ToolCall

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ohm_subagents import Envelope
    from ohm_subagents.plugin import OhmError, Result, RunRequest, Sink

pytestmark = pytest.mark.anyio
USER = Profile(id="user", name="User", summary="Uses.", prompt="Use.", tools=ToolPolicy(allowed=("mcp__near__reach",)))
SERVER = """
import json, sys
def reach(secret, outside):
    read = ""
    try:
        read = open(secret).read()
    except OSError:
        pass
    try:
        open(outside, "w").write("x")
    except OSError:
        pass
    open("made", "w").write("y")
    return {"content": [{"type": "text", "text": "read: " + read}]}
def answer(method, params):
    match method:
        case "initialize":
            info = {"name": "near", "version": "1"}
            return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": [{"name": "reach", "inputSchema": {"type": "object"}}]}}
        case "tools/call":
            return {"result": reach(**params["arguments"])}
    return {"error": {"code": -32601, "message": "Method not found"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        said = {"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params"))}
        print(json.dumps(said), flush=True)
"""


@pytest.fixture
def anyio_backend() -> str:
    """A server takes real time."""
    return "asyncio"


class Caller:
    """A backend whose runs call each of their tools once, with the same arguments."""

    def __init__(self, arguments: dict[str, str]) -> None:
        self._arguments = {**arguments}

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        del sink
        results = [await tool.execute(ToolCall(arguments={**self._arguments})) for tool in request.child_tools]
        return Ok(RunOutput(text="; ".join(result.text for result in results) or "no tools"))

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Backend]:
            yield self

        can = frozenset({Capability.IN_PROCESS, Capability.CHILD_TOOLS, Capability.CALL_RULES, Capability.SANDBOX})
        return [BackendSpec(id="caller", summary="Calls.", open=opened, options=Options, capabilities=can)]


class Place:
    """A home with a secret, a project, and a server that reaches for what it is told."""

    def __init__(self, root: Path) -> None:
        self.home, self.work, self.server = root / "home", root / "work", root / "server.py"
        for folder in (self.home, self.work):
            folder.mkdir()
        self.secret, self.outside = self.home / "secret", self.home / "new"
        self.secret.write_text("s3cret")
        self.server.write_text(SERVER)

    @property
    def servers(self) -> dict[str, Any]:
        return {"near": {"command": sys.executable, "args": [f"{self.server}"]}}

    def open(self, *, of_project: bool = False) -> AbstractAsyncContextManager[Ohm]:
        config = {"subagentBackend": "caller", "mcpServers": {} if of_project else self.servers}
        env = {"PI_CONFIG_DIR": f"{self.home}", "HOME": f"{self.home}", "PATH": os.environ["PATH"]}
        env |= {"OHM_SUBAGENTS_STORE": "memory", "XDG_CACHE_HOME": f"{self.home}/.cache"}
        caller = Caller({"secret": f"{self.secret}", "outside": f"{self.outside}"})
        return Ohm.open(cwd=self.work, env=env, config=config, profiles=[USER], plugins=[caller], trust=of_project)

    async def ran(self, *, of_project: bool = False, **call: Any) -> Envelope:
        async with self.open(of_project=of_project) as ohm:
            return (await ohm.run("user", "go", **call)).unwrap()

    def git(self, *words: str) -> str:
        command = ("git", "-c", "user.name=a", "-c", "user.email=a@b", *words)
        return subprocess.run(command, cwd=self.work, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.slow
async def test_without_a_sandbox_a_server_reads_a_secret_and_writes_outside(place: Place) -> None:
    assert (await place.ran()).output == "read: s3cret"
    assert place.outside.exists()


async def test_in_a_sandbox_a_server_changes_the_workspace_and_reaches_neither(place: Place) -> None:
    envelope = await place.ran(sandbox="required")
    assert (envelope.output, envelope.diagnostics or []) == ("read: ", [])
    assert not place.outside.exists()
    assert (place.work / "made").read_text() == "y"


@pytest.mark.slow
async def test_in_a_clone_a_server_changes_the_clone_and_not_the_files_that_it_is_of(place: Place) -> None:
    place.outside = place.work / "a"
    place.outside.write_text("one\n")
    for words in (("init", "-q"), ("add", "a"), ("commit", "-qm", "first")):
        place.git(*words)
    envelope = await place.ran(sandbox="required", isolation="clone")
    assert envelope.output == "read: "
    assert place.outside.read_text() == "one\n"
    assert not (place.work / "made").exists()
    assert envelope.workspace is not None
    assert place.git("show", f"{envelope.workspace.ref}:made") == "y"


async def test_a_sandbox_that_is_preferred_and_cannot_be_had_is_told(place: Place) -> None:
    place.work = place.home
    envelope = await place.ran(sandbox="preferred")
    assert envelope.output == "read: s3cret"
    told = envelope.diagnostics or []
    assert [one for one in told if "which a sandbox keeps private. It runs without a sandbox." in one]


async def test_a_sandbox_that_is_required_and_cannot_be_had_starts_no_server(place: Place) -> None:
    place.work = place.home
    async with place.open() as ohm:
        error = (await ohm.run("user", "go", sandbox="required")).unwrap_err()
    assert error.code == ErrorCode.SANDBOX_UNAVAILABLE
    assert not place.outside.exists()


async def test_a_server_of_a_project_reads_no_file_by_naming_it(place: Place) -> None:
    (place.work / ".mcp.json").write_text(json.dumps({"mcpServers": place.servers}))
    envelope = await place.ran(of_project=True, sandbox="required")
    assert envelope.output == "no tools"
    told = envelope.diagnostics or []
    assert [one for one in told if "its process ended with code 2" in one and "server.py" in one]
