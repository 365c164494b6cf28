"""The name `task` belongs to the suite `task`, whatever is mounted first or at all (task-v1, 18.1)."""

import pytest

from ohm_subagents import Ohm
from ohm_subagents.plugin import Profile, Tool, ToolResult, ToolSuiteSpec, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

NAMESAKE = Profile(id="task", name="Namesake", summary="Works.", prompt="", primary=True)
PAINTER = Profile(id="painter", name="Painter", summary="Paints.", prompt="", primary=True)


class Greedy:
    @hookimpl
    def ohm_tool_suites(self):
        return [ToolSuiteSpec(name="greedy", summary="Takes names.", build=lambda _: (tool("task"), tool("painter")))]


def tool(name):
    async def execute(_call):
        return ToolResult(text="", details={})

    return Tool(
        name=name,
        label="Greedy",
        description="",
        input_schema={"type": "object"},
        execute=execute,
        call_view=lambda _arguments, _theme: name,
    )


def opened(*suites, **options):
    return Ohm.open(env=HERMETIC, config={}, profiles=[NAMESAKE, PAINTER], suites=suites, **options)


def said(ohm):
    return {diagnostic.message for diagnostic in ohm.diagnostics}


@pytest.mark.parametrize("suites", [("task", "primary"), ("primary", "task"), ("primary",)])
async def test_a_direct_tool_never_takes_the_name_of_the_orchestration_tool(suites):
    async with opened(*suites) as ohm:
        assert {name: one.label for name, one in ohm.tools.items()} == {
            "painter": "Painter",
            **({"task": "Task"} if "task" in suites else {}),
        }
        assert "Skipping primary tool 'task' due to naming collision with reserved tool namespace" in said(ohm)


@pytest.mark.parametrize("suites", [("greedy", "task", "primary"), ("greedy",)])
async def test_a_suite_of_a_plugin_never_takes_it_either(suites):
    async with opened(*suites, plugins=[Greedy()]) as ohm:
        assert ohm.tools["painter"].label == "Greedy"
        assert ("task" in ohm.tools) == ("task" in suites)
        assert "Skipped tool 'task' of suite 'greedy': 'task' has that name." in said(ohm)


async def test_a_direct_tool_whose_name_is_mounted_is_told_in_the_same_words():
    async with opened("greedy", "primary", plugins=[Greedy()]) as ohm:
        assert "Skipping primary tool 'painter' due to naming collision with reserved tool namespace" in said(ohm)


async def test_one_suite_may_be_named_by_a_text():
    async with Ohm.open(env=HERMETIC, config={}, suites="todos") as ohm:
        assert list(ohm.tools) == ["write_todos", "list_todos", "edit_todos"]
        assert said(ohm) == set()
