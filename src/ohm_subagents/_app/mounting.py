"""The suites of an `Ohm`: those for its host, and those for its subagents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ohm_subagents._policy.tools import CHILD_TOOLS
from ohm_subagents._surfaces.mounting import mount

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._plugins.interfaces import SuiteContext, Tool, ToolSuiteSpec
    from ohm_subagents.contract.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSettings:
    """What a suite sees of the configuration."""

    output_max_chars: int
    onupdate_throttle_ms: int
    options: Mapping[str, JsonValue]

    @classmethod
    def of(cls, config: OhmConfig, suite: str) -> Self:
        """The settings of one suite."""
        return cls(
            output_max_chars=config.output_max_chars,
            onupdate_throttle_ms=config.onupdate_throttle_ms,
            options=config.suite_options.get(suite, {}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedSuites:
    """Tools by name, for the parent and for children."""

    parent: Mapping[str, Tool]
    child: Mapping[str, Tool]
    diagnostics: tuple[Diagnostic, ...]


def mount_all(
    config: OhmConfig,
    suites: tuple[str, ...] | None,
    specs: Mapping[str, ToolSuiteSpec],
    context: Callable[[str], SuiteContext],
) -> MountedSuites:
    """Every suite for children that a plugin offers; for the parent, those that are asked for or configured."""
    offered = [name for name, spec in specs.items() if spec.audience == "child"]
    chosen = [name for name in (config.suites if suites is None else suites) if name not in offered]
    child = mount(offered, specs, context, reserved=dict.fromkeys(CHILD_TOOLS, "ohm-subagents"))
    parent = mount(chosen, specs, context)
    return MountedSuites(parent=parent.tools, child=child.tools, diagnostics=(*child.diagnostics, *parent.diagnostics))
