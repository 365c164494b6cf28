"""The real 135M model, through everything: plugin discovery, config, engine, in-process backend, child tool."""

import anyio
import pytest

from ohm_subagents import Ohm
from ohm_subagents.plugin import Profile, Tool, ToolPolicy, ToolResult, ToolSuiteSpec, hookimpl

pytestmark = [pytest.mark.anyio, pytest.mark.real_model]

EXTRACTOR = Profile(
    id="extractor",
    name="Extractor",
    summary="Extracts facts.",
    prompt="Call record_city with the city and the country of the text.",
    tools=ToolPolicy(allowed=("record_city",)),
)
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "country": {"type": "string", "enum": ["France", "Germany", "Spain"]}},
    "required": ["city", "country"],
}


class Extraction:
    """A child suite of one tool that keeps what it is given."""

    def __init__(self):
        self.recorded = []

    @hookimpl
    def ohm_tool_suites(self):
        return [ToolSuiteSpec(name="extraction", summary="", build=self._build, audience="child")]

    def _build(self, _context):
        description = "Record the city and the country that the text names."
        return (
            Tool(
                name="record_city",
                label="Record",
                description=description,
                input_schema=SCHEMA,
                execute=self._record,
                render_call=str,
            ),
        )

    async def _record(self, call):
        await anyio.lowlevel.checkpoint()
        self.recorded.append(call.arguments)
        return ToolResult(text="recorded", details={})


async def test_a_constrained_extraction_comes_back_through_a_task(gguf, tmp_path):
    extraction = Extraction()
    env = {"PI_CONFIG_DIR": str(tmp_path), "OHM_MODEL": f"gguf/{gguf}"}
    async with Ohm.open(cwd=tmp_path, env=env, profiles=[EXTRACTOR], plugins=[extraction]) as ohm:
        envelope = (await ohm.run("extractor", "I live in Berlin, in Germany.")).ok_value

    assert extraction.recorded[0] == {"city": "Berlin", "country": "Germany"}
    assert (envelope.provider, envelope.runtime, envelope.route) == ("gguf", "pi-sdk", "interactive-sdk")
    assert envelope.tool_rows[0] == '○ record_city {"city":"Berlin","country":"Germany"}'
    assert envelope.usage.requests >= 2
    assert envelope.usage.output_tokens > 0
