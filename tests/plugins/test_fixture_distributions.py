"""Third-party distributions, really installed and found by their entry points in a fresh process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ALL = ("ohm-broken-hook", "ohm-broken-import", "ohm-example-backend")
REPORT = """
import json, sys
from ohm_subagents._plugins.host.host import PluginHost

host = PluginHost()
host.register_installed(lambda name: not sys.argv[1:] or name in sys.argv)
print(json.dumps({
    "backends": list(host.backends()),
    "plugins": {p.name: [p.state, p.origin, p.distribution, p.version, *p.hooks] for p in host.plugins},
    "diagnostics": {d.subject: d.message for d in host.diagnostics},
    "imported": [name for name in sys.modules if name.startswith(("ohm_broken", "ohm_example"))],
}))
"""
RUN = """
import sys
from pathlib import Path
import anyio
from ohm_subagents._plugins.host.host import PluginHost
from ohm_subagents.plugin import Profile, RunRequest, RunSpec

host = PluginHost()
host.register_installed(lambda name: name == "upper")
spec = host.backends()["upper"]
profile = Profile(id="p", name="P", summary="", prompt="")
how = RunSpec(profile=profile, description="", instructions="", cwd=Path.cwd())
request = RunRequest(task_id="t", session_id="s", prompt="say it", spec=how)

class Printed:
    def emit(self, event):
        print(event.kind)

async def main():
    async with spec.open(spec.options.model_validate({"suffix": "!"})) as backend:
        print((await backend.run(request, Printed())).ok_value.text)

anyio.run(main)
"""


@pytest.fixture(scope="module")
def site(install: Callable[..., Path]) -> Path:
    return install(*ALL)


def python(site: Path, code: str, *arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep),
        },
        check=True,
        capture_output=True,
        text=True,
    )
    assert finished.stderr == "", "a library stays silent until the host program listens to its logger"
    return finished.stdout


def report(site: Path, *allowed: str) -> dict[str, Any]:
    return json.loads(python(site, REPORT, *allowed))


@pytest.mark.slow
def test_an_installed_backend_is_found_by_its_entry_point_beside_two_broken_plugins(site: Path) -> None:
    seen = report(site)
    assert "upper" in seen["backends"]
    assert seen["plugins"]["upper"] == ["loaded", "entry point", "ohm-example-backend", "1.2.3", "ohm_backends"]


def test_a_plugin_that_fails_to_import_is_one_diagnostic(site: Path) -> None:
    seen = report(site, "broken-import", "upper")
    assert seen["plugins"]["broken-import"] == ["failed", "entry point", "ohm-broken-import", "1.2.3"]
    assert seen["diagnostics"] == {
        "broken-import": "Plugin 'broken-import' of ohm-broken-import 1.2.3 could not be imported: "
        "ModuleNotFoundError: No module named 'a_dependency_that_nobody_installed'. "
        "Repair it, or set OHM_SUBAGENTS_BLOCK_PLUGINS=broken-import to leave it out."
    }
    assert seen["backends"] == ["upper"]


@pytest.mark.slow
def test_a_plugin_with_a_wrong_hook_is_one_diagnostic(site: Path) -> None:
    seen = report(site, "broken-hook", "upper")
    assert seen["plugins"]["broken-hook"] == ["failed", "entry point", "ohm-broken-hook", "1.2.3"]
    assert seen["diagnostics"] == {
        "broken-hook": "Plugin 'broken-hook' of ohm-broken-hook 1.2.3 declares ohm_backends with the parameter "
        "'registry', which the host cannot pass. Plain parameters it may have: context. "
        "Repair it, or set OHM_SUBAGENTS_BLOCK_PLUGINS=broken-hook to leave it out."
    }
    assert seen["backends"] == ["upper"]


def test_a_blocked_plugin_is_never_imported(site: Path) -> None:
    seen = report(site, "upper")
    assert seen["diagnostics"] == {}
    assert seen["imported"] == ["ohm_example_backend"]
    assert seen["plugins"]["broken-import"][0] == "blocked"


@pytest.mark.slow
def test_where_no_plugin_is_allowed_none_is_imported(site: Path) -> None:
    seen = report(site, "none")
    assert seen["imported"] == []
    assert seen["backends"] == []
    assert {state for state, *_ in seen["plugins"].values()} == {"blocked"}


def test_the_installed_backend_runs(site: Path) -> None:
    assert python(site, RUN).split("\n") == ["route_resolved", "text_delta", "text_delta", "SAY IT!", ""]
