"""The tools of a run as one pydantic-ai toolset, and the workspace that they act on. Imports pydantic_ai."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.toolsets import FunctionToolset, ToolsetTool
from pydantic_ai.workspaces import (
    LocalWorkspaceBackend,
    ReadOnlyWorkspace,
    Workspace,
    WorkspaceBackend,
    WorkspaceError,
    WorkspaceUnavailableError,
)

from ohm_subagents.backends.in_process.programs import WITHOUT_RIPGREP
from ohm_subagents.backends.in_process.search import tool as code_search
from ohm_subagents.backends.in_process.search.code_index.index import CodeIndexes
from ohm_subagents.backends.in_process.tools import bash, edit, find, grep, ls, read, write
from ohm_subagents.backends.in_process.tools.commands import Commands, SupervisedWorkspace
from ohm_subagents.backends.in_process.tools.failure import fail, sentence
from ohm_subagents.backends.in_process.tools.ripgrep import Ripgrep
from ohm_subagents.backends.in_process.tools.tree import TreeSearch
from ohm_subagents.backends.in_process.tools.use import refuse_if_closed
from ohm_subagents.plugin import Diagnostic, RunRequest, as_exception

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic_ai import RunContext, Tool
    from pydantic_ai.toolsets import AbstractToolset

_TIMEOUT_S: Final = 120.0
_MAX_RETRIES: Final = 5  # the model reads what is wrong with its arguments; one that never learns must end

_PLAIN: Final[Mapping[str, Callable[[], Tool[object]]]] = {
    "read": read.tool,
    "bash": bash.tool,
    "edit": edit.tool,
    "write": write.tool,
    "ls": ls.tool,
}
_SEARCHING: Final[Mapping[str, Callable[[TreeSearch, CodeIndexes], Tool[object]]]] = {
    "grep": lambda search, _: grep.tool(search),
    "find": lambda search, _: find.tool(search),
    "code_search": code_search.tool,
}
_CHANGING: Final = frozenset({"bash", "edit", "write"})


class ChildToolset(FunctionToolset[object]):
    """A toolset in which no failure ends the run: the model reads one sentence and goes on."""

    _listed: Mapping[str, ToolsetTool[object]] | None = None

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        # None of them depends on the run, and to list eight anew costs a tenth of a short one.
        if self._listed is None:
            listed = await super().get_tools(ctx)
            self._listed = {name: _unconditional(tool, self.id) for name, tool in listed.items()}
        return dict(self._listed)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[object],
        tool: ToolsetTool[object],
    ) -> Any:  # noqa: ANN401  pydantic-ai's signature
        refuse_if_closed(ctx)
        try:
            return await super().call_tool(name, tool_args, ctx, tool)
        except (ToolFailed, ModelRetry):
            raise
        except WorkspaceUnavailableError as error:
            fail("The working directory is gone, so nothing can be read or run there.", error)
        except (OSError, WorkspaceError) as error:
            fail(sentence(error, await ctx.workspace.working_dir()), error)
        except BaseException as error:  # noqa: BLE001  a bug of a tool costs its call, not the run
            raised = as_exception(error)
            fail(
                f"The tool {name} broke ({type(error).__name__}); this is a fault of the tool: try another way.",
                raised,
            )


def _unconditional(tool: ToolsetTool[object], toolset_id: str | None) -> ToolsetTool[object]:
    """The tool as pydantic-ai would make it for each request: without the schema of the result, which no model gets."""
    return replace(tool, tool_def=replace(tool.tool_def, toolset_id=toolset_id, return_schema=None))


def child_toolset(
    names: Collection[str], *, ripgrep: str | None = None, indexes: CodeIndexes | None = None
) -> ChildToolset:
    """Return the tools of `CHILD_TOOLS` that `names` lists, and nothing else; names of other tools are left to others.

    Pass the same `indexes` for every run, so that `code_search` reads a tree once. Without `ripgrep`, the path of an
    `rg`, a call of `grep` fails.
    """
    search = TreeSearch(ripgrep=None if ripgrep is None else Ripgrep(program=ripgrep))
    shared = CodeIndexes() if indexes is None else indexes
    tools = [build() for name, build in _PLAIN.items() if name in names]
    tools += [build(search, shared) for name, build in _SEARCHING.items() if name in names]
    return ChildToolset(tools, timeout=_TIMEOUT_S, max_retries=_MAX_RETRIES, id="ohm_child_tools")


def child_workspace(cwd: Path, names: Collection[str], commands: Commands | None = None) -> WorkspaceBackend:
    """Return the workspace of a run at `cwd`, read-only if no named tool changes files.

    Its commands see PATH, HOME, LANG, LC_ALL and LC_CTYPE of this process, and no other variable but the mark by which
    `commands` finds what they leave. Without it, what makes itself a daemon stays.
    """
    local = LocalWorkspaceBackend(cwd) if commands is None else SupervisedWorkspace(cwd, commands)
    return ReadOnlyWorkspace(Workspace(local)) if _CHANGING.isdisjoint(names) else local


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """The file and shell tools that the policy allows, the workspace they act on, and what is missing for them."""

    toolsets: Sequence[AbstractToolset[object]] = ()
    workspace: WorkspaceBackend | None = None
    diagnostics: Sequence[Diagnostic] = ()


Equip = Callable[[RunRequest], Equipment]


def child_equipment(indexes: CodeIndexes, ripgrep: str | None, commands: Commands | None = None) -> Equip:
    """Equip runs with the child tools of `request.tools` in `request.cwd`; runs share tools and search indexes."""
    missing = Diagnostic(subject="ripgrep", message=WITHOUT_RIPGREP)

    @cache  # building the eight schemas takes as long as a whole run without them
    def toolset(names: tuple[str, ...]) -> AbstractToolset[object]:
        return child_toolset(names, indexes=indexes, ripgrep=ripgrep)

    def equip(request: RunRequest) -> Equipment:
        if not request.tools:
            return Equipment()
        return Equipment(
            toolsets=[toolset(request.tools)],
            workspace=child_workspace(request.cwd, request.tools, commands and commands.within(request.box)),
            diagnostics=[missing] if "grep" in request.tools and ripgrep is None else [],
        )

    return equip
