"""The sources of an `Ohm`, as the rest of it reads them: directory, configuration, environment, plugins, clock."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from pydantic_core import to_jsonable_python

from ohm_subagents._config.env import process_env
from ohm_subagents._orchestrator.observe.host_faults import HostFaults
from ohm_subagents._records import dataclass
from ohm_subagents.contract.profile import CHILD_TOOLS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from pydantic import JsonValue

    from ohm_subagents._config.mcp_servers import McpServer
    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents._plugins.suites.embedding import Host
    from ohm_subagents._tools.live_ui import LiveUi
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.requests import Answer, Request

ConfigSource = Mapping[str, object] | Path | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The sources of an `Ohm`."""

    cwd: Path
    config: Mapping[str, JsonValue] | Path | None
    env: Mapping[str, str]
    plugins: tuple[object, ...]
    profiles: tuple[Profile, ...] | None
    logger: Logger
    clock: Clock
    faults: HostFaults = field(default_factory=HostFaults)
    host: Host | None = None
    given_host: Host | None = None
    live_ui: LiveUi | None = None
    trusts: bool = False
    approvals: Callable[[Request], Awaitable[Answer]] | None = None
    mcp_servers: Mapping[str, McpServer] = field(default_factory=dict[str, "McpServer"], repr=False)

    def parent_tools(self) -> tuple[str, ...]:
        """Return the parent agent's active tools, or all child tools if the host reports none; ignore non-strings."""
        try:
            named = cast("Iterable[object]", () if self.host is None else self.host.active_tools())
            names = () if isinstance(named, str) else tuple(name for name in named if isinstance(name, str))
        except Exception:
            self.logger.exception("host.active_tools", host=repr(self.host))
            names = ()
        return names or CHILD_TOOLS


def source_of(config: ConfigSource) -> Mapping[str, JsonValue] | Path | None:
    """Return the path of a text, and a mapping as plain JSON. Raises TypeError for anything else."""
    if config is None or isinstance(config, str | Path):
        return Path(config) if isinstance(config, str) else config
    if not isinstance(cast("object", config), Mapping):
        wrong = f"config is {config!r:.60}; allowed: a mapping, the path of a file, or None."
        raise TypeError(wrong)
    plain: dict[str, JsonValue] = to_jsonable_python(dict(config), fallback=repr)
    return plain


def env_of(env: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return a read-only copy of the environment; None is that of the process."""
    return MappingProxyType(dict(process_env() if env is None else env))


def system_clock() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000
