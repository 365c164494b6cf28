"""The suite `single`: the tool `subagent` delegates one task to one agent. Its code is loaded when it is mounted.

`suite.build` makes the tool, `agents.load_agents` reads the agents, `tool_policy.tools_of` takes tools away;
`child_run.ChildRun` follows a call, `verdict.is_worth_another` decides on another of its `attempts.Attempts`,
`outcome.result_of` makes the result, and `truncation.cut` cuts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import ToolSuiteSpec, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents.suite import Diagnostic, Place, Profile, SuiteContext, Tool

NAME: Final = "single"


@hookimpl
def ohm_tool_suites() -> Iterable[ToolSuiteSpec]:
    """Offer the suite."""
    yield ToolSuiteSpec(
        name=NAME, summary="Delegate one task to one agent.", build=_build, redacts=True, agents=_agents
    )


@hookimpl
def ohm_checks(place: Place, suites: Mapping[str, Mapping[str, JsonValue]]) -> Iterable[Diagnostic]:
    """Say what is wrong with the files of agents and the settings."""
    from ohm_subagents.suites.single.agents import load_agents  # noqa: PLC0415  only a check needs it here
    from ohm_subagents.suites.single.settings import load_settings  # noqa: PLC0415

    if NAME not in suites:
        return
    yield from load_agents(place).diagnostics
    yield from load_settings(place.agent_dir)[1]


def _agents(place: Place, _options: Mapping[str, JsonValue]) -> Iterable[Profile]:
    from ohm_subagents.suites.single.agents import load_agents  # noqa: PLC0415  only a list of agents needs it here

    return load_agents(place).profiles.values()


def _build(context: SuiteContext) -> tuple[Tool, ...]:
    from ohm_subagents.suites.single.suite import build  # noqa: PLC0415  only who mounts it needs it

    return build(context)
