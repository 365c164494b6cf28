"""The spec of the suite; its code is loaded when it is mounted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.suites import ToolSuiteSpec

if TYPE_CHECKING:
    from ohm_subagents._plugins.suites import SuiteContext, Tool

NAME: Final = "delegate"


def delegate_suite() -> ToolSuiteSpec:
    """The suite, which is loaded when it is mounted."""
    return ToolSuiteSpec(name=NAME, summary="Delegate tasks to parallel sub-agents with profiles.", build=_build)


def _build(context: SuiteContext) -> tuple[Tool, ...]:
    from ohm_subagents._surfaces.delegate.suite import build  # noqa: PLC0415  only who mounts it needs it

    return build(context)
