"""The real CLIs, installed from npm and on a scripted model, use the child tools of their run."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from agent_models import AgentModel, agent_model
from real_agents import CLAUDE, CODEX, OPENCODE, PATIENCE_S, QWEN, installed

import ohm_backend_cli
from ohm_subagents import Ohm, tool
from ohm_subagents.config import process_env
from ohm_subagents.plugin import ErrorCode, Profile, ToolPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * PATIENCE_S), pytest.mark.anyio]
CALLS = (("add", {"a": 2, "b": 3}), ("subagent_finalize", {"status": "SUCCESS", "result": {"sum": 5}}))
LISTED = ("write_todos", {"mode": "replace", "todos": [{"text": "Subtract."}]})
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}


@dataclass(frozen=True)
class Real:
    """A CLI, and what it needs to reach a model at an address."""

    package: tuple[str, str, str]
    model: str

    def environment(self, url: str, home: Path) -> dict[str, str]:
        cli = self.package[2]
        if cli == "claude":
            return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": f"{home / 'claude'}"}
        if self.model.startswith("scripted/"):  # a service of ohm.json
            return {"SCRIPTED_KEY": "k"}
        return {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1"}


REAL = {
    "claude": Real(CLAUDE, "anthropic/claude-fake-1"),
    "codex": Real(CODEX, "scripted/m"),
    "opencode": Real(OPENCODE, "scripted/m"),
    "qwen": Real(QWEN, "openai/m"),
}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def anyio_backend() -> str:
    """A process takes real time."""
    return "asyncio"


@asynccontextmanager
async def ohm_on(cli: str, home: Path, model: AgentModel, profile: Profile) -> AsyncGenerator[Ohm]:
    real, work = REAL[cli], home / "work"
    work.mkdir()
    config: dict[str, Any] = {
        "subagentBackend": cli,
        "subagents": {
            "model": real.model,
            "sendToFinished": "resume",
            "backends": {cli: {"command": [installed(*real.package)]}},
        },
        "providers": {"scripted": {"baseUrl": f"{model.url}/v1", "apiKeyEnv": "SCRIPTED_KEY"}},
    }
    env = {"PATH": process_env()["PATH"], "HOME": f"{home}", "OHM_SUBAGENTS_STORE": "memory"}
    env |= {"PI_CONFIG_DIR": f"{home / 'ohm'}", **real.environment(model.url, home)}
    async with Ohm.open(cwd=work, env=env, config=config, profiles=[profile], plugins=[ohm_backend_cli]) as ohm:
        yield ohm


def adder(*tools: str, **fields: Any) -> Profile:
    allowed = ToolPolicy(allowed=tools)
    return Profile(id="adder", name="Adder", summary="Adds.", prompt="You add.", tools=allowed, **fields)


@pytest.mark.parametrize("cli", REAL)
async def test_it_has_the_child_tools_and_no_other_and_so_has_its_follow_up(cli: str, tmp_path: Path) -> None:
    demanding = adder("read", "write_todos", finalize="required", result_schema=SUM)
    with agent_model(*CALLS) as model:
        async with ohm_on(cli, tmp_path, model, demanding) as ohm:
            envelope = (await ohm.run("adder", "Add two and three.", tools=[add])).unwrap()
            first, read = next(names for names in model.offered if names), len(model.read)
            model.calls += [LISTED, CALLS[-1]]
            further = (await ohm.handle(envelope.task_id).send("And what is left?", tools=[add])).unwrap()

    assert envelope.data == {"sum": 5}
    assert envelope.tool_rows is not None
    assert [row.split(" ")[:2] for row in envelope.tool_rows] == [
        ["○", "add"],
        ["✓", "add"],
        ["○", "subagent_finalize"],
        ["✓", "subagent_finalize"],
    ]
    for wanted in ("add", "subagent_finalize", "write_todos"):
        assert [name for name in first if name.endswith(wanted)], first
    assert further.data == {"sum": 5}
    assert "Subtract." in json.dumps(model.read[read:])


class Nothing(BaseHTTPRequestHandler):
    """A service that has neither of the APIs."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(("cli", "api"), [("codex", "Responses"), ("opencode", "Chat Completions")])
async def test_what_is_wrong_with_a_service_is_said_with_its_setting(cli: str, api: str, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever)
        model = AgentModel(f"http://127.0.0.1:{server.server_port}", [])
        async with ohm_on(cli, tmp_path, model, adder("read")) as ohm:
            lacking = (await ohm.run("adder", "Add.")).unwrap_err()
            unknown = (await ohm.run("adder", "Add.", model="nowhere/m")).unwrap_err()
        server.shutdown()

    assert lacking.code == unknown.code == ErrorCode.MODEL_UNKNOWN
    assert f"providers.scripted.baseUrl of ohm.json. This backend asks services by the {api} API" in lacking.advice
    assert "nowhere" in unknown.message
    assert "a service is configured under providers of ohm.json" in unknown.advice
