"""Doubles and conformance kits for hosts and plugin authors.

Only the conformance kits need more than the library: `pip install 'ohm-subagents[testing]'` brings pytest and trio.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from ohm_subagents.testing.host import MemoryHost
from ohm_subagents.testing.kept_feed import KeptFeed
from ohm_subagents.testing.observer import EventLog
from ohm_subagents.testing.quick import HERMETIC, quick_ohm
from ohm_subagents.testing.scenarios import Scenarios
from ohm_subagents.testing.scripted import ScriptedBackend, Step

if TYPE_CHECKING:
    from ohm_subagents.testing.conformance import BackendConformance
    from ohm_subagents.testing.durable_store_conformance import DurableStoreConformance
    from ohm_subagents.testing.remote_conformance import RemoteConformance
    from ohm_subagents.testing.shaky import ShakyTransport
    from ohm_subagents.testing.store_conformance import StoreConformance
    from ohm_subagents.testing.store_trial import StoreClock, StoreHand, StoreTrial, TaskFields

__all__ = [
    "HERMETIC",
    "BackendConformance",
    "DurableStoreConformance",
    "EventLog",
    "KeptFeed",
    "MemoryHost",
    "RemoteConformance",
    "Scenarios",
    "ScriptedBackend",
    "ShakyTransport",
    "Step",
    "StoreClock",
    "StoreConformance",
    "StoreHand",
    "StoreTrial",
    "TaskFields",
    "quick_ohm",
]


_KITS: Final = {
    "BackendConformance": "conformance",
    "DurableStoreConformance": "durable_store_conformance",
    "RemoteConformance": "remote_conformance",
    "StoreConformance": "store_conformance",
}
_SELDOM: Final = {
    "ShakyTransport": "shaky",
    "StoreClock": "store_trial",
    "StoreHand": "store_trial",
    "StoreTrial": "store_trial",
    "TaskFields": "store_trial",
}


def __getattr__(name: str) -> object:
    """Import pytest only for those who ask for a kit, and what is about remote runs or stores for those who do."""
    if name in _KITS:
        import pytest  # noqa: PLC0415  needed here only

        for kit in _KITS.values():  # a law that is broken shows what it compared
            pytest.register_assert_rewrite(f"{__name__}.{kit}")
    if name in _KITS or name in _SELDOM:
        found: object = getattr(import_module(f"{__name__}.{(_KITS | _SELDOM)[name]}"), name)
        return found
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
