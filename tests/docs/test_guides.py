"""Guides whose examples need a service, or say what a configuration means."""

import importlib.util
import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import anyio
import pytest
from pages import ROOT, block, blocks, hermetic

from ohm_subagents import Ohm
from ohm_subagents.backends.pi.options import PiOptions
from ohm_subagents.contract import Clocks
from ohm_subagents.testing import HERMETIC

GUIDES = ROOT / "docs" / "guides"
BACKENDS = GUIDES / "backends.md"


class Upper(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = body["prompt"].upper().encode()
        self.send_response(500 if b"FAIL" in answer else 200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


@pytest.fixture
def http_service():
    server = HTTPServer(("127.0.0.1", 0), Upper)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_backend_plugin_serves_a_task_and_reports_a_failure(tmp_path, http_service):
    file = tmp_path / "ohm_backend_http.py"
    file.write_text(block(BACKENDS, "file", "ohm_backend_http.py"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("ohm_backend_http", file)
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    config = {"subagentBackend": "http", "subagents": {"backends": {"http": {"url": http_service}}}}

    async def main():
        async with Ohm.open(env=HERMETIC, config=config, plugins=[plugin]) as ohm:
            return await ohm.run("finder", "hello"), await ohm.run("finder", "fail")

    answered, failed = anyio.run(main)

    assert answered.ok_value.output == "HELLO"
    assert failed.err_value.message.startswith("The HTTP backend failed: ")


@pytest.mark.slow
def test_the_recipe_for_the_law_of_backends_works_as_it_is_written(tmp_path, http_service):
    (tmp_path / "ohm_backend_http.py").write_text(block(BACKENDS, "file", "ohm_backend_http.py"), encoding="utf-8")
    (tmp_path / "test_http.py").write_text(block(BACKENDS, "file", "test_http.py"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", "test_http.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        env=hermetic() | {"HTTP_BACKEND": http_service},
    )

    assert done.returncode == 0, done.stdout
    assert re.search(r"[1-9]\d passed, \d+ skipped", done.stdout)
    assert "Scenarios.hangs is not given." in done.stdout


@pytest.mark.anyio
async def test_the_profile_loads_and_joins_the_roster(tmp_path):
    (tmp_path / "subagents").mkdir()
    (tmp_path / "subagents" / "reviewer.md").write_text(
        block(GUIDES / "profiles.md", "file", "~/.pi/agent/subagents/reviewer.md"), encoding="utf-8"
    )
    async with Ohm.open(env=HERMETIC | {"PI_CONFIG_DIR": str(tmp_path)}, cwd=tmp_path) as ohm:
        reviewer = next(profile for profile in ohm.profiles if profile.id == "reviewer")

        assert reviewer.name == "Reviewer"
        assert "code_search" in reviewer.tools.allowed
        assert ohm.diagnostics == ()


@pytest.mark.anyio
async def test_a_configuration_means_what_its_guide_says(tmp_path):
    async def loaded(guide, part):
        (text,) = (one.text for one in blocks(GUIDES / guide) if one.language == "jsonc" and part in one.text)
        (tmp_path / "ohm.json").write_text(text, encoding="utf-8")
        async with Ohm.open(env=HERMETIC | {"PI_CONFIG_DIR": str(tmp_path)}, cwd=tmp_path) as ohm:
            assert ohm.diagnostics == ()
            return ohm.config

    models = await loaded("models.md", "apiKeyEnv")
    assert str(models.subagents.entry("finder").model) == "openai/gpt-4o"
    assert "acme" in models.providers
    limits = await loaded("limits.md", "maxRequests")
    assert limits.subagents.max_requests == {"openai": 8}
    assert str(limits.subagents.tree_budget().cost_usd) == "2.50"
    nested = await loaded("nested-pi.md", "graceMs")
    assert PiOptions.model_validate(nested.subagents.backends["interactive-shell"]) == PiOptions(
        command=("pi",), env={"AWS_PROFILE": None, "EDITOR": "true"}
    )


def test_the_clocks_are_the_ones_of_the_guide():
    guide = (GUIDES / "limits.md").read_text(encoding="utf-8")
    clocks = Clocks()
    minutes = [clocks.idle_ms, clocks.tool_ms, clocks.soft_ms, clocks.cap_ms]
    rows = re.findall(r"^\| (?:idle|tool|soft|cap) \| .* \| (\d+) (minute|hour)s? \|$", guide, re.MULTILINE)
    assert [int(number) * (60_000 if unit == "minute" else 3_600_000) for number, unit in rows] == minutes
