"""Hand a focused task to a subagent and get one honest result back.

`Ohm` is the way in; `run_sync` is the shortest one. Data types are in `ohm_subagents.contract`, everything for plugin
authors in `ohm_subagents.plugin`, test doubles and conformance kits in `ohm_subagents.testing`.
"""

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
