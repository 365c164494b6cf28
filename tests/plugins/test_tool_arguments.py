"""The arguments of a plugin's tool are held to its schema before the tool is called."""

import pytest

from ohm_subagents.plugin import Tool, ToolCall, ToolResult, ToolSuiteSpec, hookimpl
from ohm_subagents.testing import ScriptedBackend, quick_ohm

pytestmark = pytest.mark.anyio
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 1}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


class Weather:
    """A suite of one tool, for the parent and for subagents."""

    def __init__(self, schema=SCHEMA, *, checks_arguments=False):
        self.calls = []
        self._schema = schema
        self._checks_arguments = checks_arguments

    def _build(self, _context):
        async def forecast(call):
            self.calls.append(call.arguments)
            return ToolResult(text="sunny", details={})

        tool = Tool(
            name="forecast",
            label="Forecast",
            description="Tells the weather.",
            input_schema=self._schema,
            execute=forecast,
            call_view=lambda _arguments, _theme: "forecast",
            checks_arguments=self._checks_arguments,
        )
        return (tool,)

    @hookimpl
    def ohm_tool_suites(self):
        """Offer it."""
        return [ToolSuiteSpec(name="weather", summary="Weather.", build=self._build, audience="both")]


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({}, "'arguments' does not fit: 'city' is a required property."),
        ({"city": 5}, "'arguments.city' does not fit: 5 is not of type 'string'."),
        ({"city": "Oslo", "days": 0}, "'arguments.days' does not fit: 0 is less than the minimum of 1."),
        ({"city": "Oslo", "country": "NO"}, "('country' was unexpected)."),
        ("Oslo", "'arguments' does not fit: 'Oslo' is not of type 'object'."),
        (None, "'arguments' does not fit: None is not of type 'object'."),
    ],
)
async def test_arguments_that_do_not_fit_are_told_and_the_tool_is_not_called(arguments, wrong):
    weather = Weather()
    async with quick_ohm(backend=ScriptedBackend(), plugins=[weather], suites=["weather"]) as ohm:
        called = await ohm.call("forecast", arguments)

    assert called.is_error
    assert called.text.startswith("Tool 'forecast' was not called: ")
    assert called.text.endswith(wrong)
    assert called.details["error_code"] == "invalid_tool_arguments"
    assert called.details["error_category"] == "validation"
    assert weather.calls == []


async def test_a_subagent_is_told_as_well():
    weather = Weather()
    async with quick_ohm(backend=ScriptedBackend(), plugins=[weather], suites=[]) as ohm:
        refused = await ohm.call("forecast", {})
        assert refused.details["error_code"] == "unknown_tool", "it is not the parent's"
        told = await ohm.child_tools["forecast"].execute(ToolCall(arguments={"days": 2}))

    assert "'city' is a required property" in told.text
    assert weather.calls == []


async def test_arguments_that_fit_reach_the_tool_as_they_are():
    weather = Weather()
    async with quick_ohm(backend=ScriptedBackend(), plugins=[weather], suites=["weather"]) as ohm:
        called = await ohm.call("forecast", {"city": "Oslo", "days": 2})

    assert called.text == "sunny"
    assert weather.calls == [{"city": "Oslo", "days": 2}]


async def test_a_tool_may_check_its_arguments_in_its_own_words():
    weather = Weather(checks_arguments=True)
    async with quick_ohm(backend=ScriptedBackend(), plugins=[weather], suites=["weather"]) as ohm:
        await ohm.call("forecast", {"days": 0})

    assert weather.calls == [{"days": 0}]


async def test_a_schema_that_cannot_be_followed_is_told_with_the_call():
    weather = Weather({"type": "objekt"})
    async with quick_ohm(backend=ScriptedBackend(), plugins=[weather], suites=["weather"]) as ohm:
        called = await ohm.call("forecast", {})

    assert "has a schema that cannot be followed" in called.text
    assert weather.calls == []


async def test_every_tool_of_ours_checks_its_arguments_itself():
    suites = ["task", "primary", "delegate", "single", "sticky", "todos"]
    async with quick_ohm(backend=ScriptedBackend(), suites=suites) as ohm:
        assert [tool.name for tool in ohm.tools.values() if not tool.checks_arguments] == []
        assert len(ohm.tools) > 10
