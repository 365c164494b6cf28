"""The rules for backends, kept by an agent that speaks ACP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest
from acp_stage import command_of

from ohm_acp.hooks import instance
from ohm_acp.options import AcpOptions
from ohm_subagents.testing import BackendConformance, Scenarios

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.plugin import BackendSpec, Options


@pytest.mark.slow  # a process each; `test_acp_runs` has its quick siblings
class TestAcpBackend(BackendConformance):
    @pytest.fixture
    def anyio_backend(self) -> str:
        """The ACP library runs on asyncio only."""
        return "asyncio"

    @pytest.fixture
    def spec(self) -> BackendSpec[Options]:
        return cast("BackendSpec[Options]", instance("scripted"))  # the kit gives it the options below

    @pytest.fixture
    def options(self, tmp_path: Path) -> Options:
        return AcpOptions(command=command_of(tmp_path, "resume"), agent="claude")

    @pytest.fixture
    def scenarios(self, tmp_path: Path) -> Scenarios:
        note = json.dumps(["conformance_note", {"text": "é"}])
        return Scenarios(
            says="Say hello.",
            hangs="hang",
            fails="error",
            calls_two_tools="Use tools now",
            recalls=("past", "hello"),
            calls_child_tool=f"child-tool {note}",
            calls_bash="shell echo ran >> conformance_runs",
            cwd=tmp_path,
        )
