"""The real 135M model, through everything: plugin discovery, config, engine, in-process backend, child tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from ohm_subagents import Err, Ohm, Ok
from ohm_subagents.plugin import JsonObject, Profile, Tool, ToolPolicy, ToolResult, ToolSuiteSpec, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.plugin import SuiteContext, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.real_model]

EXTRACTOR = Profile(
    id="extractor",
    name="Extractor",
    summary="Extracts facts.",
    prompt="Call record_city with the city and the country of the text.",
    tools=ToolPolicy(allowed=("record_city",)),
)
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "country": {"type": "string", "enum": ["France", "Germany", "Spain"]}},
    "required": ["city", "country"],
}


class Extraction:
    """A child suite of one tool that keeps what it is given."""

    def __init__(self) -> None:
        self.recorded: list[JsonValue] = []

    @hookimpl
    def ohm_tool_suites(self) -> Iterable[ToolSuiteSpec]:
        return [ToolSuiteSpec(name="extraction", summary="", build=self._build, audience="child")]

    def _build(self, _context: SuiteContext) -> tuple[Tool, ...]:
        description = "Record the city and the country that the text names."
        return (
            Tool(
                name="record_city",
                label="Record",
                description=description,
                input_schema=SCHEMA,
                execute=self._record,
                call_view=lambda arguments, _theme: str(arguments),
            ),
        )

    async def _record(self, call: ToolCall) -> ToolResult:
        await anyio.lowlevel.checkpoint()
        self.recorded.append(call.arguments)
        return ToolResult(text="recorded", details={})


async def test_a_task_reaches_the_file_of_its_model(gguf: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    with gguf.open("rb") as whole:
        damaged.write_bytes(whole.read(4096))
    env = {"PI_CONFIG_DIR": str(tmp_path), "OHM_MODEL": f"gguf/{damaged}"}
    async with Ohm.open(cwd=tmp_path, env=env, profiles=[EXTRACTOR], plugins=[Extraction()]) as ohm:
        match await ohm.run("extractor", "I live in Berlin, in Germany."):
            case Ok(envelope):
                pytest.fail(str(envelope))
            case Err(error):
                assert "damaged.gguf could not be loaded" in error.message


@pytest.mark.slow
async def test_a_constrained_extraction_comes_back_through_a_task(gguf: Path, tmp_path: Path) -> None:
    extraction = Extraction()
    env = {"PI_CONFIG_DIR": str(tmp_path), "OHM_MODEL": f"gguf/{gguf}"}
    async with Ohm.open(cwd=tmp_path, env=env, profiles=[EXTRACTOR], plugins=[extraction]) as ohm:
        match await ohm.run("extractor", "I live in Berlin, in Germany."):
            case Ok(envelope):
                pass
            case Err(error):
                pytest.fail(str(error))

    assert extraction.recorded[0] == {"city": "Berlin", "country": "Germany"}
    assert (envelope.provider, envelope.runtime, envelope.route) == ("gguf", "pi-sdk", "interactive-sdk")
    assert envelope.tool_rows is not None
    assert envelope.usage is not None
    assert envelope.tool_rows[0] == '○ record_city {"city":"Berlin","country":"Germany"}'
    assert envelope.usage.requests >= 2
    assert envelope.usage.output_tokens > 0
