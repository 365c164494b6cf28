"""The toolset as a whole: only what is named, nothing that ends a run."""

import anyio
import pytest
from advancing_loop import advance
from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.workspaces import Workspace

from ohm_subagents.backends.in_process.tools.arguments import Arguments
from ohm_subagents.backends.in_process.toolset import ChildToolset, child_toolset, child_workspace
from ohm_subagents.contract.profile import CHILD_TOOLS

pytestmark = pytest.mark.anyio


def test_only_named_tools_are_built():
    assert list(child_toolset(("grep", "read", "tool_of_a_plugin")).tools) == ["read", "grep"]
    assert sorted(child_toolset(CHILD_TOOLS).tools) == sorted(CHILD_TOOLS)
    assert list(child_toolset(()).tools) == []


async def test_the_model_sees_the_argument_names_that_models_know(desk):
    seen: dict[str, list[str]] = {}

    def look(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.update({tool.name: sorted(tool.parameters_json_schema["properties"]) for tool in info.function_tools})
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(look), toolsets=[child_toolset(CHILD_TOOLS)])
    await agent.run("go")
    assert seen == {
        "read": ["limit", "offset", "path"],
        "bash": ["command", "timeout"],
        "edit": ["newText", "oldText", "path"],
        "write": ["content", "path"],
        "grep": ["context", "glob", "ignoreCase", "limit", "literal", "path", "pattern"],
        "find": ["limit", "path", "pattern"],
        "ls": ["limit", "path"],
        "code_search": ["limit", "path", "query"],
    }


@pytest.mark.parametrize(
    ("names", "read_only"), [(("read", "grep", "find", "ls", "code_search"), True), (("read", "edit"), False)]
)
def test_the_workspace_is_read_only_when_no_tool_changes_it(tmp_path, names, read_only):
    assert Workspace(child_workspace(tmp_path, names)).read_only is read_only


async def test_searching_works_in_a_read_only_workspace(desk):
    desk.names = ("read", "grep", "find", "ls", "code_search")
    desk.put("a.py", "needle = 1\n")
    assert (await desk.use("grep", pattern="needle")).text == "a.py:1: needle = 1"
    assert (await desk.use("find", pattern="*.py")).text == "a.py"
    assert (await desk.use("ls")).text == "a.py"
    assert (await desk.use("read", path="a.py")).text == "needle = 1"
    assert (await desk.use("code_search", query="needle")).text.startswith("1. a.py:1-1  constant needle")


async def test_wrong_arguments_are_told_to_the_model_and_the_run_goes_on(desk):
    outcome = await desk.use("read", path="a.txt", offset=0)
    assert outcome.kind == "retried"
    assert "greater than or equal to 1" in outcome.text


async def test_unknown_arguments_are_ignored(desk):
    desk.put("a.txt", "hello\n")
    assert (await desk.use("read", path="a.txt", encoding="utf-8")).text == "hello"


async def test_a_cwd_that_is_gone_is_one_sentence(desk):
    desk.cwd.rmdir()
    for tool, arguments in (("ls", {}), ("bash", {"command": "true"}), ("write", {"path": "a", "content": ""})):
        outcome = await desk.use(tool, **arguments)
        assert outcome.kind == "failed"
        assert outcome.text == "The working directory is gone, so nothing can be read or run there."


async def test_a_bug_in_a_tool_costs_its_call_and_shows_no_traceback(desk):
    async def broken(arguments: Arguments) -> str:
        raise KeyError("internal detail")

    desk.toolset = ChildToolset([Tool(broken, name="read")])
    outcome = await desk.use("read")
    assert outcome.kind == "failed"
    assert outcome.text == "The tool read broke (KeyError); this is a fault of the tool: try another way."


class TestInMovedTime:
    @pytest.fixture
    def anyio_backend(self, moved_time):
        return moved_time

    async def test_a_tool_that_takes_too_long_is_stopped_and_the_run_goes_on(self, desk):
        async def endless(arguments: Arguments) -> str:
            advance(60)
            await anyio.sleep_forever()
            return ""

        desk.toolset = ChildToolset([Tool(endless, name="read")], timeout=60)
        outcome = await desk.use("read")
        assert (outcome.kind, "Timed out after 60 seconds." in outcome.text) == ("retried", True)
