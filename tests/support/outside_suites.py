"""A pytest plugin: the suites are those of another distribution, which no private module of ours can be imported into.

`ohm_subagents.suites` is `ohm_outside_suites` then, for tests that call functions of a suite.
"""

from __future__ import annotations

import builtins
import importlib
import logging
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

OURS = "ohm_subagents.suites"
THEIRS = "ohm_outside_suites"
_import = builtins.__import__


class _Alias(MetaPathFinder, Loader):
    _spec = None

    def find_spec(self, name, path=None, target=None):
        del path, target
        return ModuleSpec(name, _Alias(), is_package=True) if name == OURS or name.startswith(f"{OURS}.") else None

    def create_module(self, spec):
        module = importlib.import_module(spec.name.replace(OURS, THEIRS, 1))
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._spec  # which the import system has replaced, and by which its resources are found


def _doors_only(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if importer.startswith(THEIRS):
        of_package = [f"{name}.{one}" for one in fromlist or ()] if name == "ohm_subagents" else [name]
        if any(one.startswith("ohm_subagents._") for one in of_package):
            private = f"{importer} imports {name}, which is private."
            raise ImportError(private)
    return _import(name, globals, locals, fromlist, level)


def pytest_configure():
    sys.meta_path.insert(0, _Alias())
    builtins.__import__ = _doors_only
    logging.getLogger(THEIRS).parent = logging.getLogger("ohm_subagents")  # where the player looks for warnings


def pytest_terminal_summary(terminalreporter):
    played = sorted(name.removeprefix(f"{THEIRS}.") for name in sys.modules if name.startswith(f"{THEIRS}."))
    terminalreporter.write_line(f"played by {THEIRS}: {' '.join(one for one in played if '.' not in one)}")
