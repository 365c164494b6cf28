"""Doubles and conformance kits for hosts and plugin authors.

Only `BackendConformance` needs more than the library: `pip install 'ohm-subagents[testing]'` brings pytest and trio.
"""

from typing import TYPE_CHECKING

from ohm_subagents.testing.host import MemoryHost
from ohm_subagents.testing.observer import EventLog
from ohm_subagents.testing.quick import HERMETIC, quick_ohm
from ohm_subagents.testing.scenarios import Scenarios
from ohm_subagents.testing.scripted import ScriptedBackend, Step

if TYPE_CHECKING:
    from ohm_subagents.testing.conformance import BackendConformance

__all__ = [
    "HERMETIC",
    "BackendConformance",
    "EventLog",
    "MemoryHost",
    "Scenarios",
    "ScriptedBackend",
    "Step",
    "quick_ohm",
]


def __getattr__(name: str) -> object:
    """Import pytest only for those who ask for the kit."""
    if name == "BackendConformance":
        import pytest  # noqa: PLC0415  needed here only

        pytest.register_assert_rewrite(f"{__name__}.conformance")  # a law that is broken shows what it compared
        from ohm_subagents.testing.conformance import BackendConformance  # noqa: PLC0415  needs pytest

        return BackendConformance
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
