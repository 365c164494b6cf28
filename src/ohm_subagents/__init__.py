"""Hand a focused task to a subagent and get one honest result back.

`Ohm` is the way in; `run_sync` is the shortest one. Data types are in `ohm_subagents.contract`, everything for plugin
authors in `ohm_subagents.plugin`, test doubles and conformance kits in `ohm_subagents.testing`. Which function decides
what is a table in `docs/contributing.md`; the docstring of each package names its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ohm_subagents._lazy import lazy_names

if TYPE_CHECKING:
    from ohm_subagents._app.calls import Call
    from ohm_subagents._app.deliveries import Deliveries
    from ohm_subagents._app.handle import Handle
    from ohm_subagents._app.inspection import Inspection, MountedTool
    from ohm_subagents._app.mailbox import Mailbox
    from ohm_subagents._app.ohm import Ohm
    from ohm_subagents._app.opening import OpenOptions
    from ohm_subagents._app.options import CallOptions, RunOptions
    from ohm_subagents._app.script import run_sync
    from ohm_subagents._app.streams import EventStream
    from ohm_subagents._app.sync import OhmSync
    from ohm_subagents._app.sync_handles import CallSync, DeliverySync, HandleSync
    from ohm_subagents._concurrency.own_loop import ClosedError, WrongEventLoopError
    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents._plugins.suites.delivery import Delivery
    from ohm_subagents._plugins.suites.function_tool import tool
    from ohm_subagents._plugins.suites.image import Image
    from ohm_subagents.contract.envelope import Envelope
    from ohm_subagents.contract.errors import Category, ErrorCode, OhmError
    from ohm_subagents.contract.event_json import event_from_json, event_to_json
    from ohm_subagents.contract.events import TaskEvent
    from ohm_subagents.contract.limits import Budget, Limits, LoopPolicy
    from ohm_subagents.contract.requests import Answer, Approve, Deny, Request, Text
    from ohm_subagents.contract.result import Err, Ok, Result

    __version__: str

__all__ = [
    "Answer",
    "Approve",
    "Budget",
    "Call",
    "CallOptions",
    "CallSync",
    "Category",
    "ClosedError",
    "Deliveries",
    "Delivery",
    "DeliverySync",
    "Deny",
    "Envelope",
    "Err",
    "ErrorCode",
    "EventStream",
    "Handle",
    "HandleSync",
    "Image",
    "Inspection",
    "Limits",
    "Logger",
    "LoopPolicy",
    "Mailbox",
    "MountedTool",
    "Ohm",
    "OhmError",
    "OhmSync",
    "Ok",
    "OpenOptions",
    "Request",
    "Result",
    "RunOptions",
    "TaskEvent",
    "Text",
    "WrongEventLoopError",
    "event_from_json",
    "event_to_json",
    "run_sync",
    "tool",
]

_load, __dir__ = lazy_names(
    __name__,
    {
        "_app.calls": "Call",
        "_app.deliveries": "Deliveries",
        "_app.handle": "Handle",
        "_app.mailbox": "Mailbox",
        "_app.inspection": "Inspection MountedTool",
        "_app.ohm": "Ohm",
        "_app.opening": "OpenOptions",
        "_app.options": "CallOptions RunOptions",
        "_app.script": "run_sync",
        "_app.streams": "EventStream",
        "_app.sync": "OhmSync",
        "_app.sync_handles": "CallSync DeliverySync HandleSync",
        "_concurrency.own_loop": "ClosedError WrongEventLoopError",
        "_orchestrator.observe.logger": "Logger",
        "_plugins.suites.delivery": "Delivery",
        "_plugins.suites.function_tool": "tool",
        "_plugins.suites.image": "Image",
        "contract": "Answer Approve Budget Category Deny Envelope Err ErrorCode Limits LoopPolicy "
        "OhmError Ok Request Result TaskEvent Text event_from_json event_to_json",
    },
)


def __getattr__(name: str) -> object:
    """Load a name on first use; the version is looked up in the metadata of what is installed."""
    return import_module("importlib.metadata").version("ohm-subagents") if name == "__version__" else _load(name)
