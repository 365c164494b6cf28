from __future__ import annotations

import pytest

from ohm_subagents import Ohm
from ohm_subagents.cli.plugins import print_tools
from ohm_subagents.plugin import Tool, ToolResult, ToolSuiteSpec, hookimpl
from ohm_subagents.testing import HERMETIC


def test_the_tools_are_listed_with_their_suites_and_plugins(ohm) -> None:
    ohm.configure({"suites": ["primary", "todos", "sticky", "single"]})
    done = ohm("tools")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "For the parent agent:",
        "  tool             suite    plugin",
        "  librarian        primary  suites",
        "  write_todos      todos    todos",
        "  list_todos       todos    todos",
        "  edit_todos       todos    todos",
        "  subagent         sticky   sticky",
        "  subagent_single  single   single",
        "",
        "For subagents:",
        "  tool         suite  plugin",
        "  write_todos  todos  todos   where a profile names it",
        "  list_todos   todos  todos   where a profile names it",
        "  edit_todos   todos  todos   where a profile names it",
        "",
        "Built in, for a subagent whose profile names them: read, bash, edit, write, grep, find, ls, code_search, "
        "ask_parent",
        "",
        "Not mounted, as `suites` of ohm.json does not name them: delegate, task",
    ]


def test_a_suite_that_has_no_tool_here_and_one_that_nobody_offers_are_told(ohm, tmp_path) -> None:
    ohm.configure({"suites": ["task", "single", "chores"]})
    config = tmp_path / "config" / "extensions" / "devkit-pi" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"subagents": {"enabled": false}}', encoding="utf-8")
    ohm.env["PI_CODING_AGENT_DIR"] = str(tmp_path / "config")
    done = ohm("tools")
    assert done.returncode == 0
    assert "Mounted, and without a tool here: single" in done.stdout
    assert ":1: no plugin offers the tool suite 'chores'." in done.stderr


async def _nothing(_call) -> ToolResult:
    return ToolResult(text="", details={})


class Chores:
    """A plugin with a tool."""

    @hookimpl
    def ohm_tool_suites(self):
        sweep = Tool(
            name="sweep",
            label="Sweep",
            description="Sweeps.",
            input_schema={"type": "object"},
            execute=_nothing,
            call_view=lambda _arguments, _theme: "sweep",
        )
        return [ToolSuiteSpec(name="chores", summary="Chores.", build=lambda _context: (sweep,))]


@pytest.mark.anyio
async def test_a_tool_of_a_plugin_is_listed_under_its_name(capsys) -> None:
    async with Ohm.open(env=HERMETIC, config={"suites": ["chores"]}, plugins=[Chores()]) as ohm:
        assert print_tools(ohm, ohm.inspect().loaded.unwrap()) == 0
    assert "  sweep  chores  Chores\n" in capsys.readouterr().out
