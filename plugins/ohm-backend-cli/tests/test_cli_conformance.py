"""The CLIs keep the law of backends: a program that speaks MCP stands in for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from stand_in import MODELS, TAKING, command_of, does

from ohm_backend_cli.hooks import ohm_backends
from ohm_subagents.plugin import BackendContext, ModelPattern
from ohm_subagents.shell import ShellOptions
from ohm_subagents.testing import BackendConformance, Scenarios

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.plugin import BackendSpec, Options


@pytest.mark.slow
class TestConformance(BackendConformance):
    test_preparing_answers_with_a_result = None  # type: ignore[assignment]  # there is nothing to prepare
    test_a_refusal_of_the_gate_is_returned_as_it_is = None  # type: ignore[assignment]  # the CLI makes the requests

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Child tools are for asyncio."""
        return "asyncio"

    @pytest.fixture(params=TAKING)
    def spec(self, request: pytest.FixtureRequest) -> BackendSpec[Any]:
        return next(spec for spec in ohm_backends(BackendContext()) if spec.id == request.param)

    @pytest.fixture
    def options(self, spec: BackendSpec[Options]) -> Options:
        return ShellOptions(command=command_of(spec.id))

    @pytest.fixture
    def scenarios(self, spec: BackendSpec[Options], tmp_path: Path) -> Scenarios:
        provider, _, name = MODELS[spec.id].partition("/")
        return Scenarios(
            hangs="HANG",
            fails="FAIL",
            calls_two_tools="READ\nREAD",
            recalls=("RECALL", "before"),
            calls_child_tool=does("CALL", "conformance_note", {"text": "noted"}),
            calls_bash="SHELL echo ran >> conformance_runs",
            tools=("read",),
            model=ModelPattern(provider=provider, model=name),
            cwd=tmp_path,
        )
