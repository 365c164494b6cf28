"""The permitted imports between packages."""

import ast
import importlib
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from public_doors import DOORS

SUBMODULE_DOORS = ("ohm_subagents.testing.conformance", "ohm_subagents.testing.fixtures", "ohm_subagents.adapters.")


@pytest.mark.slow
def test_the_layer_contracts_hold(root: Path) -> None:
    lint_imports = shutil.which("lint-imports", path=sysconfig.get_path("scripts"))
    assert lint_imports, "import-linter is a dev dependency"
    finished = subprocess.run([lint_imports, "--no-cache"], cwd=root, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_no_layer_contract_has_an_exception(pyproject: dict[str, Any]) -> None:
    contracts = pyproject["tool"]["importlinter"]["contracts"]
    assert contracts
    assert [contract["name"] for contract in contracts if any("ignore" in key for key in contract)] == []


def test_plugins_and_examples_import_only_doors(sources: Callable[..., dict[str, str]]) -> None:
    outside = sources("plugins/*/src/**/*.py", "tests/plugins/dists/*/src/**/*.py", "examples/**/*.py")
    assert {file: names for file, text in outside.items() if (names := list(behind_the_doors(text)))} == {}


def behind_the_doors(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if is_ours(alias.name) and not is_door(alias.name))
            case ast.ImportFrom(module=str(module), names=names) if is_ours(module):
                public = importlib.import_module(module).__all__ if module in DOORS else None
                for alias in names:
                    if not is_door(module) or (public is not None and alias.name not in public):
                        yield f"{module}.{alias.name}"
            case _:
                pass


def is_ours(module: str) -> bool:
    return module.partition(".")[0] == "ohm_subagents"


def is_door(module: str) -> bool:
    return module in DOORS or module.startswith(SUBMODULE_DOORS)


def test_a_look_behind_the_doors_is_seen() -> None:
    source = """
import ohm_subagents.contract
import ohm_subagents._store
import ohm_subagents.contract.task
from ohm_subagents import _app
from ohm_subagents._plugins.host.host import PluginHost
from ohm_subagents.plugin import hookimpl, BackendSpec, pluggy
from ohm_subagents.testing.conformance import BackendConformance
from ohm_subagents_extra._private import anything
"""
    assert list(behind_the_doors(source)) == [
        "ohm_subagents._store",
        "ohm_subagents.contract.task",
        "ohm_subagents._app",
        "ohm_subagents._plugins.host.host.PluginHost",
        "ohm_subagents.plugin.pluggy",
    ]
