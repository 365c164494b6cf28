"""The modules that a command of `ohm` loads, in a process of its own: each more costs time at every start."""

import os
import subprocess
import sys

import pytest

PROBE = """
import sys
from ohm_subagents.cli.main import main

try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
PARTS = """
import sys
import typer.core
from ohm_subagents._config.section import Section
from ohm_subagents.cli.main import main

made = []
init = typer.core.TyperCommand.__init__

def noted(self, name, **settings):
    made.append(f"command:{name}")
    init(self, name, **settings)

typer.core.TyperCommand.__init__ = noted

def sections(of):
    for one in of.__subclasses__():
        yield one
        yield from sections(one)

try:
    main()
finally:
    made += (f"validator:{one.__name__}" for one in sections(Section) if one.__pydantic_complete__)
    from ohm_subagents._store.records import _tasks, events

    made += (f"schema:{one.__name__}" for one in (_tasks, events) if one.cache_info().currsize)
    print(*made, file=sys.stderr)
"""
SERVERS = {"pydantic_ai", "genai_prices", "openai", "anthropic", "httpx", "opentelemetry", "trio", "jsonschema", "rich"}
ENGINE = {"anyio", "asyncio", "pluggy", "sqlite3", "psutil", "wcwidth", "structlog", "yaml"}
UNUSED = {
    "psutil",
    "wcwidth",
    "structlog",
    "ohm_acp.agents",
    "ohm_backend_cli.agent",
    "ohm_subagents.mcp.bridge",
    "ohm_subagents.shell.process",
    "ohm_subagents._policy.calls",
    "ohm_subagents._policy.paths",
    "ohm_subagents.shell.tree",
    "ohm_subagents.stores.snapshot.reading",
    "ohm_subagents.stores.snapshot.schema",
    "ohm_subagents._app.mailbox",
    "ohm_subagents._app.sync",
    "ohm_subagents._orchestrator.run.routed",
    "ohm_subagents._views.framed_text",
    "ohm_subagents._views.brief_rows",
    "ohm_subagents._views.live_tree",
    "ohm_subagents._terminal.board",
    "ohm_subagents._terminal.keys",
    "ohm_subagents.stores.sqlite.version_3",
    "ohm_subagents.suites.delegate.agents",
    "ohm_subagents.suites.delegate.suite",
    "ohm_subagents.suites.single.suite",
    "ohm_subagents.suites.sticky.suite",
    "ohm_subagents.cli.doctor",
}


def loaded(cwd, *arguments: str, probe: str = PROBE) -> tuple[str, set[str]]:
    """Return what the command prints, and every module that its process has loaded, or what another probe tells."""
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PI_CONFIG_DIR": str(cwd)}
    command = [sys.executable, "-c", probe, *arguments]
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout, set(done.stderr.split())


@pytest.mark.sample(4)
@pytest.mark.parametrize("command", [(), ("run",), ("tasks",), ("profile", "new")], ids=" ".join)
def test_help_loads_nothing_of_the_engine(tmp_path, command: tuple[str, ...]) -> None:
    printed, modules = loaded(tmp_path, *command, "--help")
    assert "Usage: " in printed
    assert (SERVERS | ENGINE) & modules == set()
    rooms = {name.split(".")[1] for name in modules if name.startswith("ohm_subagents.")}
    own = {"acp", "mcp", "suites", "ui"} if not command else {"suites"} if command[0] == "profile" else set()
    listing = {"_plugins", "commands"}  # the commands of plugins, by name
    assert rooms - own - listing == {"cli", "_lazy", "_records", "_terminal", "_views"}
    assert {name for name in modules if "_plugins." in name} == {"ohm_subagents._plugins.commands"}
    assert command or "pydantic" not in modules, "typer itself loads it, for the parameters of a command"


@pytest.mark.slow
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_run_on_the_echo_backend_loads_nothing_that_only_another_run_needs(tmp_path, store: str) -> None:
    (tmp_path / "ohm.json").write_text(f'{{"subagents": {{"store": "{store}"}}}}')
    printed, modules = loaded(tmp_path, "run", "finder", "x", "--backend", "none")
    assert "subagent: finder" in printed
    assert (SERVERS | UNUSED) & modules == set()
    assert ("sqlite3" in modules) == (store == "sqlite")


def test_a_run_makes_one_command_one_validator_of_the_configuration_and_no_schema_of_what_it_keeps(tmp_path) -> None:
    printed, made = loaded(tmp_path, "run", "finder", "x", "--backend", "none", probe=PARTS)
    assert "subagent: finder" in printed
    assert made == {"command:run", "validator:OhmConfig"}
