"""A real agent that makes one tool call, for every test of a child tool."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic_ai
import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ohm_subagents.backends.in_process.programs import find_ripgrep
from ohm_subagents.backends.in_process.search.code_index.index import CodeIndexes
from ohm_subagents.backends.in_process.tools import tree
from ohm_subagents.backends.in_process.tools.commands import supervised_commands
from ohm_subagents.backends.in_process.toolset import ChildToolset, child_toolset, child_workspace
from ohm_subagents.contract.profile import CHILD_TOOLS

pydantic_ai.BANNER_ENABLED = False


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # pydantic-ai runs on nothing else


@dataclass(frozen=True)
class Outcome:
    """The text that the model reads, and the success of the call."""

    text: str
    kind: str


@dataclass
class Desk:
    """A working directory with every tool; `use` makes one call through a real agent."""

    cwd: Path
    ripgrep: str | None = field(default_factory=find_ripgrep)
    names: tuple[str, ...] = CHILD_TOOLS
    indexes: CodeIndexes = field(default_factory=CodeIndexes)
    toolset: ChildToolset | None = None

    async def use(self, tool: str, **arguments: Any) -> Outcome:
        toolset = self.toolset or child_toolset(self.names, indexes=self.indexes, ripgrep=self.ripgrep)
        agent = Agent(
            FunctionModel(_calls_once(tool, arguments)),
            toolsets=[toolset],
        )
        async with supervised_commands(os.environ) as run:
            result = await agent.run("go", workspace=child_workspace(self.cwd, self.names, run))
        assert result.output == "done", "the run went on after the tool"
        (part,) = (part for message in result.all_messages() for part in message.parts if _is_result(part))
        return Outcome(part.model_response_str(wrap_if_error=False), part.outcome)

    def put(self, path: str, text: str | bytes) -> Path:
        file = self.cwd / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def fake_ripgrep(self, script: str) -> None:
        """Search with this shell script instead."""
        program = self.cwd.parent / "fake-rg"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        self.ripgrep = str(program)


def _is_result(part: object) -> bool:
    return isinstance(part, ToolReturnPart)


def _calls_once(tool: str, arguments: dict[str, Any]) -> Callable[[list[ModelMessage], AgentInfo], ModelResponse]:
    def respond(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if any(_is_result(part) for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(tool, arguments)])

    return respond


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    cwd = tmp_path / "work"
    cwd.mkdir()
    return Desk(cwd)


@pytest.fixture
def once_listed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something happen between the listing of files and the reading of them."""

    def happens(action: Callable[[], object]) -> None:
        listed = tree._files

        def then(*given: Any) -> tree.Files:
            files = listed(*given)
            action()
            return files

        monkeypatch.setattr(tree, "_files", then)

    return happens


Use = Callable[..., Awaitable[Outcome]]


@pytest.fixture
def use(desk: Desk) -> Use:
    return desk.use
