"""The suites that ship as plugins: by entry points, beside suites of others, with reports and secrets of their own."""

import pytest

from ohm_subagents import Ohm
from ohm_subagents.plugin import Diagnostic, hookimpl
from ohm_subagents.suite import Tool, ToolResult, ToolSuiteSpec
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio
SHIPPED = ["single", "sticky", "todos"]


def opened(*plugins, env=(), **options):
    return Ohm.open(**{"env": HERMETIC | dict(env), "config": {}, "plugins": plugins, **options})


def offering(name, *tools, report=None, execute=None):
    """A plugin with one suite."""

    async def answer(_call):
        return ToolResult(text=name, details={})

    def build(context):
        if report is not None:
            context.report(report)
        return tuple(
            Tool(
                name=tool,
                label=tool,
                description=tool,
                input_schema={},
                execute=execute or answer,
                call_view=lambda _arguments, _theme: name,
            )
            for tool in tools
        )

    class Plugin:
        @hookimpl
        def ohm_tool_suites(self):
            yield ToolSuiteSpec(name=name, summary="x", build=build, redacts=execute is not None)

    return Plugin()


async def test_they_are_there_though_the_configuration_cannot_be_read(tmp_path):
    (tmp_path / "ohm.json").write_text("{")
    async with opened(config=tmp_path / "ohm.json", suites=["todos", "single"]) as ohm:
        assert [*ohm.tools] == ["write_todos", "list_todos", "edit_todos", "subagent"]


async def test_the_user_can_leave_one_out():
    async with opened(config={"blockPlugins": ["todos"]}, suites=["todos", "single"]) as ohm:
        assert [*ohm.tools] == ["subagent"]
        assert any("No plugin offers the tool suite 'todos'" in one.message for one in ohm.diagnostics)


async def test_the_list_of_plugins_to_load_is_about_those_of_others():
    async with opened(config={"loadPlugins": []}, suites=SHIPPED) as ohm:
        assert "write_todos" in ohm.tools


@pytest.mark.parametrize("suites", [("theirs", "single"), ("single", "theirs")])
async def test_of_two_tools_called_subagent_the_later_one_has_its_suite_in_its_name(suites):
    async with opened(offering("theirs", "subagent"), suites=suites) as ohm:
        assert [*ohm.tools] == ["subagent", f"subagent_{suites[1]}"]


async def test_a_suite_reports_what_is_wrong_now():
    faults = [Diagnostic(subject="notes", message="notes.md is not readable.")]
    async with opened(offering("notes", report=lambda: faults), suites=["notes"]) as ohm:
        assert faults[0] in ohm.diagnostics
        faults.clear()
        assert [one for one in ohm.diagnostics if one.subject == "notes"] == []


async def test_a_report_that_raises_costs_no_other_diagnostic():
    def broken():
        raise LookupError("no file")

    sound = Diagnostic(subject="notes", message="notes.md is not readable.")
    plugins = offering("broken", report=broken), offering("notes", report=lambda: [sound])
    async with opened(*plugins, suites=["broken", "notes"]) as ohm:
        found = [one for one in ohm.diagnostics if one.subject in {"suites", "notes"}]

    assert found[1] == sound
    assert "LookupError: no file" in found[0].message
    assert found[0].severity == "error"


async def test_a_value_that_a_plugin_names_as_a_secret_is_shown_by_no_suite_that_redacts():
    class Keys:
        @hookimpl
        def ohm_secrets(self, place):
            yield f"key-of-{place.cwd.name}-file"

    async def leak(_call):
        return ToolResult(text="It is key-of-work-file.", details={"key": "key-of-work-file"})

    suite = offering("leaky", "leak", execute=leak)
    async with opened(Keys(), suite, suites=["leaky"], cwd="/nowhere/work") as ohm:
        done = await ohm.call("leak", {})

    assert "key-of-work-file" not in done.text + str(done.details)
