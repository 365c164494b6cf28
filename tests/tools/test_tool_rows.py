"""The words of a plugin for a tool call, in the views of people; the payload of machines keeps its own words."""

import pytest

from ohm_subagents.plugin import ToolEnded, ToolStarted, hookimpl
from ohm_subagents.testing import Step, quick_ohm

pytestmark = pytest.mark.anyio

PAYLOAD = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}
CALLS = (
    ToolStarted(call_id="1", tool="deploy", args='{"to":"prod"}'),
    ToolEnded(call_id="1", tool="deploy", status="success", text="ok"),
    ToolStarted(call_id="2", tool="read", args="a.py"),
)


class Wording:
    @hookimpl
    def ohm_tool_row(self, call):
        return f"ships {call.payload}" if call.tool == "deploy" else None


async def test_a_plugin_words_the_rows_of_its_tool():
    async with quick_ohm(Step(events=CALLS, text="done"), plugins=[Wording()]) as ohm:
        result = await ohm.call("task", PAYLOAD)

    assert [line.strip() for line in result.render().splitlines()[2:5]] == [
        '├── ○ ships {"to":"prod"}',
        "├── ✓ ships ok",
        "├── ○ read a.py",
    ]
    assert result.details["tool_rows"][0] == '○ deploy {"to":"prod"}'
