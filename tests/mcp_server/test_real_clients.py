"""The real command-line agents, installed from npm and on a scripted model, call a tool of `ohm mcp`."""

import json
import subprocess

import pytest
from agent_models import END, agent_model
from mcp_process import EXECUTABLE, place_of
from real_agents import CLAUDE, CODEX, GEMINI, OPENCODE, PATIENCE_S, installed

OURS = ("PI_CONFIG_DIR", "PYTHONPATH", "OHM_TEST_REACHED", "OHM_TEST_RELEASED")
FOREIGN = ("ANTHROPIC", "CLAUDE", "OPENAI", "CODEX", "GEMINI", "GOOGLE", "OPENCODE")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * PATIENCE_S)]


@pytest.fixture
def model():
    with agent_model() as scripted:
        yield scripted


@pytest.fixture
def home(tmp_path):
    """The home of a user, and the environment of the agent in it, without keys of whoever runs the tests."""
    env = {name: value for name, value in place_of(tmp_path).items() if not name.startswith(FOREIGN)}
    server = {"command": f"{EXECUTABLE}", "args": ["mcp"], "env": {name: env[name] for name in OURS}}
    return tmp_path, env, server


def said(home, command, **env):
    folder, common, _ = home
    done = subprocess.run(
        command,
        cwd=folder,
        env=common | {"PWD": f"{folder}"} | env,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_claude_code_shows_its_model_the_text_of_a_result(home, model):
    folder, _, server = home
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"ohm": server}}))
    command = [installed(*CLAUDE), "-p", "Where is login?", "--mcp-config", f"{config}", "--strict-mcp-config"]
    env = {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "CLAUDE_CONFIG_DIR": f"{folder / 'claude'}",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_CONNECT_TIMEOUT_MS": f"{PATIENCE_S * 1000}",  # else 5 s, and on it goes without the tool
    }
    assert END in said(home, [*command, "--allowedTools", "mcp__ohm__task"], **env)
    (result,) = model.read
    assert "line one\n  line two" in result["content"][0]["text"]
    assert "contract_version" not in json.dumps(result)


def test_codex_shows_its_model_the_text_of_a_result(home, model):
    folder, _, server = home
    (folder / "codex").mkdir()
    lines = (
        'model = "m"',
        'model_provider = "scripted"',
        'approval_policy = "never"',
        "[model_providers.scripted]",
        'name = "scripted"',
        f'base_url = "{model.url}/v1"',
        'wire_api = "responses"',
        'env_key = "SCRIPTED_KEY"',
        "[mcp_servers.ohm]",
        f"command = {json.dumps(server['command'])}",
        'args = ["mcp"]',
        "required = true",
        "[mcp_servers.ohm.env]",
        *(f"{name} = {json.dumps(value)}" for name, value in server["env"].items()),
        "[mcp_servers.ohm.tools.task]",
        'approval_mode = "approve"',
    )
    (folder / "codex" / "config.toml").write_text("\n".join(lines))
    command = [installed(*CODEX), "exec", "--skip-git-repo-check", "Where is login?"]
    assert END in said(home, command, CODEX_HOME=f"{folder / 'codex'}", SCRIPTED_KEY="k")
    (result,) = model.read
    assert any("line one\n  line two" in part["text"] for part in result["output"])
    assert "contract_version" not in json.dumps(result)


def test_opencode_shows_its_model_the_text_of_a_result(home, model):
    folder, _, server = home
    local = {"type": "local", "command": [server["command"], "mcp"], "environment": server["env"], "timeout": 30_000}
    scripted = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "k"},
        "models": {"m": {"name": "m"}},
    }
    config = {"provider": {"scripted": scripted}, "mcp": {"ohm": local}, "permission": "allow"}
    (folder / "opencode.json").write_text(json.dumps(config))
    command = [installed(*OPENCODE), "run", "--model", "scripted/m", "Where is login?"]
    assert END in said(home, command)
    assert any("line one\n  line two" in f"{each['content']}" for each in model.read)


def test_gemini_shows_its_model_the_text_of_a_result(home, model):
    folder, _, server = home
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "mcpServers": {"ohm": server | {"trust": True}},
    }
    (folder / ".gemini").mkdir()
    (folder / ".gemini" / "settings.json").write_text(json.dumps(settings))
    env = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    command = [installed(*GEMINI), "-p", "Where is login?", "--model", "gemini-2.5-flash", "--yolo"]
    assert END in said(home, command, **env)
    assert any("line one" in json.dumps(each) for each in model.read)
