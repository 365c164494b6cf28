"""An agent of `single` with its tools, and the words for its caller if it gets none."""

import pytest
from acting import ActingBackend
from model_server import ModelServer, Say

from ohm_subagents import Ohm
from ohm_subagents.plugin import Tool, ToolCall, ToolResult, ToolSuiteSpec, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

PRIVILEGED = ("rename", "codeAction", "restart")


class Lsp:
    """A plugin that brings an `lsp` to subagents, which notes what it is asked."""

    def __init__(self):
        self.asked = []

    @hookimpl
    def ohm_tool_suites(self):
        async def execute(call):
            self.asked.append(call.arguments["action"])
            return ToolResult(text="done", details={})

        tool = Tool(
            name="lsp",
            label="LSP",
            description="d",
            input_schema={"type": "object"},
            execute=execute,
            call_view=lambda _arguments, _theme: "lsp",
        )
        return [ToolSuiteSpec(name="lsp", summary="s", build=lambda _context: (tool,), audience="child")]


@pytest.mark.parametrize(
    ("section", "allowed"),
    [
        ({}, ["hover", "references"]),
        ({"allowedLspActions": ["hover"]}, ["hover"]),
        ({"allowedLspActions": ["hover", "rename"], "allowWrite": True}, ["hover"]),
    ],
)
async def test_an_lsp_of_a_plugin_takes_the_allowed_actions_only(configure, place, section, allowed):
    lsp, told = Lsp(), []

    async def act(request, _sink):
        [tool] = [tool for tool in request.child_tools if tool.name == "lsp"]
        asked = [{"action": one} for one in ("hover", "references", *PRIVILEGED, "RENAME")]
        told.extend([await tool.execute(ToolCall(arguments=arguments)) for arguments in (*asked, {}, "rename")])
        return "ok"

    configure(section)
    env = HERMETIC | {"HOME": str(place), "PI_CODING_AGENT_DIR": str(place / "agent")}
    acting = ActingBackend(act)
    async with Ohm.open(
        cwd=place / "work",
        env=env,
        config={"subagentBackend": "acting"},
        suites=["single", "lsp"],
        plugins=[acting, lsp],
    ) as ohm:
        done = await ohm.call("subagent", {"agent": "explorer", "task": "x"})
    assert done.details["results"][0]["exitCode"] == 0, done.text
    assert lsp.asked == allowed
    refused = [one.text for one in told if one.is_error]
    assert len(refused) == len(told) - len(allowed)
    assert f"Allowed: {allowed[0]}" in refused[-1] or "definition" in refused[-1]


class TestInProcess:
    @pytest.fixture
    def anyio_backend(self):
        """pydantic-ai runs on asyncio only."""
        return "asyncio"

    async def test_the_caller_reads_that_an_agent_had_no_tool(self, place):
        async with ModelServer(Say("From memory."), Say("Found.")) as server:
            config = {
                "providers": {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}},
                "subagents": {"model": "acme/small"},
            }
            env = HERMETIC | {"HOME": str(place), "ACME_KEY": "a-key-of-acme"}
            async with Ohm.open(cwd=place / "work", env=env, config=config, suites=["single"]) as ohm:
                researcher = await ohm.call("subagent", {"agent": "researcher", "task": "x"})
                explorer = await ohm.call("subagent", {"agent": "explorer", "task": "x"})
        assert researcher.text == (
            'From memory.\n\nNote: There is no tool "web_search", "fetch_content", "get_search_content" here; '
            "the subagent works without any tool."
        )
        assert researcher.details["results"][0]["output"] == "From memory."
        assert explorer.text == "Found."
