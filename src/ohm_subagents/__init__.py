"""Hand a focused task to a subagent and get one honest result back.

`Ohm` is the way in; `run_sync` is the shortest one. Data types are in `ohm_subagents.contract`, everything for plugin
authors in `ohm_subagents.plugin`, test doubles and conformance kits in `ohm_subagents.testing`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ohm_subagents._app.ohm import Ohm
    from ohm_subagents._app.script import run_sync
    from ohm_subagents.contract.envelope import Envelope
    from ohm_subagents.contract.errors import Category, ErrorCode, OhmError
    from ohm_subagents.contract.limits import Budget, Limits, LoopPolicy
    from ohm_subagents.contract.result import Err, Ok, Result

__all__ = [
    "Budget",
    "Category",
    "Envelope",
    "Err",
    "ErrorCode",
    "Limits",
    "LoopPolicy",
    "Ohm",
    "OhmError",
    "Ok",
    "Result",
    "run_sync",
]

_HOMES = {"Ohm": "_app.ohm", "run_sync": "_app.script"}


def __getattr__(name: str) -> object:
    """Load a name on first use (PEP 562): a host pays for what it takes, when it takes it."""
    if name not in __all__:
        unknown = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(unknown)
    found: object = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'contract')}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
