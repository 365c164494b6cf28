"""Hand a focused task to a subagent and get one honest result back.

`Ohm` is the way in; `run_sync` is the shortest one. Data types are in `ohm_subagents.contract`, everything for plugin
authors in `ohm_subagents.plugin`, test doubles and conformance kits in `ohm_subagents.testing`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ohm_subagents._app.calls import Call
    from ohm_subagents._app.handle import Handle
    from ohm_subagents._app.inspection import Inspection, MountedTool
    from ohm_subagents._app.ohm import Ohm
    from ohm_subagents._app.opening import OpenOptions
    from ohm_subagents._app.script import run_sync
    from ohm_subagents._concurrency.home import ClosedError, WrongEventLoopError
    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents.contract.envelope import Envelope
    from ohm_subagents.contract.errors import Category, ErrorCode, OhmError
    from ohm_subagents.contract.event_json import event_to_json
    from ohm_subagents.contract.events import TaskEvent
    from ohm_subagents.contract.limits import Budget, Limits, LoopPolicy
    from ohm_subagents.contract.result import Err, Ok, Result

    __version__: str

__all__ = [
    "Budget",
    "Call",
    "Category",
    "ClosedError",
    "Envelope",
    "Err",
    "ErrorCode",
    "Handle",
    "Inspection",
    "Limits",
    "Logger",
    "LoopPolicy",
    "MountedTool",
    "Ohm",
    "OhmError",
    "Ok",
    "OpenOptions",
    "Result",
    "TaskEvent",
    "WrongEventLoopError",
    "event_to_json",
    "run_sync",
]

_HOMES = {
    "Call": "_app.calls",
    "ClosedError": "_concurrency.home",
    "Handle": "_app.handle",
    "Inspection": "_app.inspection",
    "Logger": "_orchestrator.observe.logger",
    "MountedTool": "_app.inspection",
    "Ohm": "_app.ohm",
    "OpenOptions": "_app.opening",
    "WrongEventLoopError": "_concurrency.home",
    "run_sync": "_app.script",
}


def __getattr__(name: str) -> object:
    """Load a name on first use (PEP 562): a host pays for what it takes, when it takes it."""
    if name not in {*__all__, "__version__"}:
        unknown = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(unknown)
    if name == "__version__":
        found: object = import_module("importlib.metadata").version("ohm-subagents")
    else:
        found = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'contract')}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
