"""What a run works with. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ohm_subagents.backends.in_process.programs import WITHOUT_RIPGREP
from ohm_subagents.backends.in_process.programs import find_ripgrep as find_on_disk
from ohm_subagents.backends.in_process.toolset import child_toolset, child_workspace
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.plugin import RunRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai.toolsets import AbstractToolset
    from pydantic_ai.workspaces import WorkspaceBackend

    from ohm_subagents.backends.in_process.search.code_index.index import CodeIndexes
    from ohm_subagents.backends.in_process.tools.commands import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """The file and shell tools that the policy allows, the workspace they act on, and what is missing for them."""

    toolsets: Sequence[AbstractToolset[object]] = ()
    workspace: WorkspaceBackend | None = None
    diagnostics: Sequence[Diagnostic] = ()


Equip = Callable[[RunRequest], Equipment]


def child_equipment(
    indexes: CodeIndexes, find_ripgrep: Callable[[], str | None] = find_on_disk, *, run: Run | None = None
) -> Equip:
    """Equips runs with the child tools of `request.tools` in `request.cwd`; runs share tools and search indexes."""
    ripgrep = find_ripgrep()
    missing = Diagnostic(subject="ripgrep", message=WITHOUT_RIPGREP)

    @cache  # building the eight schemas takes as long as a whole run without them
    def toolset(names: tuple[str, ...]) -> AbstractToolset[object]:
        return child_toolset(names, indexes=indexes, ripgrep=ripgrep)

    def equip(request: RunRequest) -> Equipment:
        if not request.tools:
            return Equipment()
        return Equipment(
            toolsets=[toolset(request.tools)],
            workspace=child_workspace(request.cwd, request.tools, run),
            diagnostics=[missing] if "grep" in request.tools and ripgrep is None else [],
        )

    return equip
