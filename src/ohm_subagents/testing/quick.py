"""An `Ohm` for one test: scripted backend, nothing read from the machine, countable ids and time."""

from __future__ import annotations

from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING

from ohm_subagents._app.ohm import Ohm
from ohm_subagents.testing.scripted import ScriptedBackend, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.contract.profile import Profile

HERMETIC = {
    "PI_CONFIG_DIR": "/dev/null",
    "PI_CODING_AGENT_DIR": "/dev/null",
    "OHM_SUBAGENTS_LOAD_PLUGINS": "none",
    "OHM_SUBAGENTS_STORE": "memory",
    "XDG_CACHE_HOME": "/dev/null",
}
"""An environment in which no user file and no installed plugin is found, and nothing is kept."""


@asynccontextmanager
async def quick_ohm(
    *steps: Step | str,
    backend: ScriptedBackend | None = None,
    config: Mapping[str, JsonValue] | None = None,
    plugins: Iterable[object] = (),
    cwd: Path | str = ".",
    profiles: Iterable[Profile] | None = None,
    suites: Iterable[str] | None = None,
) -> AsyncGenerator[Ohm]:
    """Open an `Ohm` on a scripted backend, whose script has to be played to the end.

    Task ids are `task_1`, `task_2`, ...; the clock stands at 0. Without steps every run answers `done`. `config`,
    `plugins`, `cwd`, `profiles` and `suites` are those of `Ohm.open`.
    """
    scripted = backend or ScriptedBackend(*steps, default=None if steps else Step(text="done"))
    ids = count(1)
    async with Ohm.open(
        cwd=cwd,
        config={"subagentBackend": scripted.id, **(config or {})},
        env=HERMETIC,
        plugins=[scripted, *plugins],
        profiles=profiles,
        suites=suites,
        clock=lambda: 0,
        new_task_id=lambda: f"task_{next(ids)}",
    ) as ohm:
        yield ohm
    scripted.assert_done()
