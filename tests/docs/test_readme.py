"""The README is true: its blocks run, its tables are generated, its files load."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import anyio
import pytest

from ohm_subagents import Ohm
from ohm_subagents.backends.pi.options import PiOptions
from ohm_subagents.contract import Clocks
from ohm_subagents.testing import HERMETIC

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:<!-- (\w+): ([\w-]+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
BLOCKS = [match.groups() for match in BLOCK.finditer(README)]


def block(kind, name):
    (text,) = (text for kind_, name_, _, text in BLOCKS if (kind_, name_) == (kind, name))
    return text


def hermetic():
    """Nothing of this machine's user, and no key."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_MODEL"))}
    return kept | HERMETIC


def test_every_python_block_is_marked_to_be_run():
    unmarked = [text for kind, _, language, text in BLOCKS if language == "python" and kind is None]

    assert unmarked == []


PRINTED = {
    "embed": ["contract/truncation.py", "keyword search"],
    "ops": [
        "succeeded 1",
        "✓ Finder · Auth flow scan",
        "✓ Oracle · Retry review",
        "batch: accepted 2/2\ncompleted\n",
        "completed True\n[True, False]\nTrue\nFalse succeeded\nprimary-tool\n",
    ],
    "delegate": ["['completed', 'error']\n2 completed\n"],
}


def test_every_block_that_is_marked_to_be_run_is():
    assert [name for kind, name, _, _ in BLOCKS if kind == "run"] == [*PRINTED]


@pytest.mark.parametrize(("name", "printed"), PRINTED.items())
def test_the_program_examples_run(name, printed):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block("run", name)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=hermetic(),
    )

    assert [words for words in printed if words not in done.stdout] == []
    assert done.stderr == ""


def test_the_first_command_prints_the_file_that_truncates_output():
    ohm_command = block("command", "first-run").strip().rpartition("&& ")[2]
    arguments = ohm_command.removeprefix(".venv/bin/ohm ")

    done = subprocess.run(
        ["bash", "-c", f"{Path(sys.executable).parent}/ohm {arguments}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=hermetic(),
    )

    assert "src/ohm_subagents/contract/truncation.py" in done.stdout


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
    file.write_text(block("plugin", "http"), encoding="utf-8")
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


def test_the_recipe_for_the_law_of_backends_works_as_it_is_written(tmp_path, http_service):
    (tmp_path / "ohm_backend_http.py").write_text(block("plugin", "http"), encoding="utf-8")
    (tmp_path / "test_http.py").write_text(block("conformance", "http"), encoding="utf-8")
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
    (tmp_path / "subagents" / "reviewer.md").write_text(block("profile", "reviewer"), encoding="utf-8")
    async with Ohm.open(env=HERMETIC | {"PI_CONFIG_DIR": str(tmp_path)}, cwd=tmp_path) as ohm:
        reviewer = next(profile for profile in ohm.profiles if profile.id == "reviewer")

        assert reviewer.name == "Reviewer"
        assert "code_search" in reviewer.tools.allowed
        assert ohm.diagnostics == ()


@pytest.mark.anyio
async def test_each_configuration_loads_without_a_diagnostic(tmp_path):
    loaded = []
    for text in (text for _, _, language, text in BLOCKS if language == "jsonc"):
        (tmp_path / "ohm.json").write_text(text, encoding="utf-8")
        async with Ohm.open(env=HERMETIC | {"PI_CONFIG_DIR": str(tmp_path)}, cwd=tmp_path) as ohm:
            assert ohm.diagnostics == ()
            loaded.append(ohm.config)
    models, limits, nested = loaded
    assert str(models.subagents.entry("finder").model) == "openai/gpt-4o"
    assert "acme" in models.providers
    assert limits.subagents.max_requests == {"openai": 8}
    assert str(limits.subagents.tree_budget().cost_usd) == "2.50"
    assert PiOptions.model_validate(nested.subagents.backends["interactive-shell"]) == PiOptions(
        command=("pi",), env={"AWS_PROFILE": None, "EDITOR": "true"}
    )


def test_the_clocks_are_the_ones_of_the_readme():
    clocks = Clocks()
    minutes = [clocks.idle_ms, clocks.tool_ms, clocks.soft_ms, clocks.cap_ms]
    rows = re.findall(r"^\| (?:idle|tool|soft|cap) \| .* \| (\d+) (minute|hour)s? \|$", README, re.MULTILINE)
    assert [int(number) * (60_000 if unit == "minute" else 3_600_000) for number, unit in rows] == minutes


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    extraction = next(line for line in script.splitlines() if line.startswith("command="))

    done = subprocess.run(
        ["bash", "-c", f'{extraction}\nprintf %s "$command"'], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert done.stdout == block("command", "test").strip()


def test_the_newest_release_of_the_changelog_is_the_version_of_the_project():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.search(r"^## (\S+)", changelog, re.MULTILINE)[1] == version
