"""The library as the recorded cases use it: every seam that they need, once."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import anyio
from golden_backend import BACKEND_ID, RecordedBackend
from golden_recording import Json, deep_merged, recording

from ohm_subagents import Ohm
from ohm_subagents._profiles.catalog import builtin_profiles
from ohm_subagents.contract import Profile, Task
from ohm_subagents.plugin import ToolResult
from ohm_subagents.testing import HERMETIC

KNOBS = {
    "retention_ms": "OHM_SUBAGENTS_TASK_RETENTION_MS",
    "max_events": "OHM_SUBAGENTS_TASK_MAX_EVENTS",
    "max_tasks": "OHM_SUBAGENTS_TASK_MAX_ENTRIES",
    "max_expired": "OHM_SUBAGENTS_TASK_MAX_EXPIRED_ENTRIES",
    "max_expired_entries": "OHM_SUBAGENTS_TASK_MAX_EXPIRED_ENTRIES",
}
"""Options of the reference's registry, which are environment variables for a user."""

SHIPPED = {profile.id: profile for profile in builtin_profiles()}


class Subject:
    """An open `Ohm` and what a case may change of its surroundings."""

    def __init__(self, ohm: Ohm, *, config: Json, env: Json, profiles: list[Profile]) -> None:
        self._ohm = ohm
        self._config = config
        self._env = env
        self._profiles = profiles
        self.ui: list[Json] = []

    async def call(
        self,
        tool: str,
        arguments: Any,
        *,
        on_update: Callable[[ToolResult], None] | None = None,
        abort: anyio.Event | None = None,
    ) -> ToolResult:
        """One tool call. The abort signal of a host is an event that it may set at any time."""
        signal = {} if abort is None else {"abort": abort}
        return await self._ohm.call(tool, arguments, on_update=on_update, **signal)

    async def set_config(self, patch: Json) -> None:
        self._config = deep_merged(self._config, patch)
        await self._ohm.reconfigure(config=self._config)

    async def set_env(self, patch: Json) -> None:
        self._env = {**self._env, **patch}
        await self._ohm.reconfigure(env=environment(self._env))

    async def drop_profile(self, profile_id: str) -> None:
        self._profiles = [profile for profile in self._profiles if profile.id != profile_id]
        await self._ohm.reconfigure(profiles=self._profiles)

    async def debug_texts(self, result: ToolResult) -> tuple[str, str]:
        """The collapsed and the expanded view of a result while OHM_DEBUG is on."""
        await self._ohm.reconfigure(env=environment({**self._env, "OHM_DEBUG": "1"}))
        texts = result.render(), result.render(expanded=True)
        await self._ohm.reconfigure(env=environment(self._env))
        return texts

    def tasks(self) -> Iterable[Task]:
        """Every task that is kept, oldest first."""
        return self._ohm._store.tasks()


@asynccontextmanager
async def opened(case: Json, backend: RecordedBackend) -> AsyncGenerator[Subject]:
    """The library set up as the case wants it."""
    config = deep_merged(recording().base_config, case.get("config", {}))
    config["subagentBackend"] = BACKEND_ID
    env = {**_knobs(case), **case.get("env", {})}
    profiles = catalog(primary={step["subagent"] for step in case["steps"] if step["do"] == "primary"})
    begun = anyio.current_time()
    calls: list[Json] = []
    async with Ohm.open(
        cwd=recording().cwd,
        config=Path("no-such-ohm.json") if case.get("config_load_fails") else config,
        env=environment(env),
        plugins=[backend],
        profiles=profiles,
        clock=lambda: milliseconds(begun),
        new_task_id=_generator(case),
        **_host(case, calls, begun),
    ) as ohm:
        subject = Subject(ohm, config=config, env=env, profiles=profiles)
        subject.ui = calls
        yield subject


def milliseconds(since: float) -> int:
    """Virtual time since a moment of the event loop's clock."""
    return round((anyio.current_time() - since) * 1000)


def environment(patch: Mapping[str, Any]) -> dict[str, str]:
    """What a process would see; None unsets."""
    return {**HERMETIC, **{name: str(value) for name, value in patch.items() if value is not None}}


def catalog(primary: Iterable[str] = ()) -> list[Profile]:
    """The vector catalogue; inputs and feature gates are those of the profiles that ship."""
    return [vector_profile(entry, primary=entry["id"] in primary) for entry in recording().catalog]


def vector_profile(entry: Json, *, primary: bool = False) -> Profile:
    shipped = SHIPPED.get(entry["id"])
    profile = Profile(
        id=entry["id"],
        name=entry["name"],
        summary=entry["summary"],
        prompt=entry["scaffoldPrompt"],
        when_to_use=tuple(entry["whenToUse"]),
        primary=primary or bool(entry.get("primary")),
        internal=bool(entry.get("internal")),
    )
    return profile if shipped is None else replace(profile, inputs=shipped.inputs, feature=shipped.feature)


def _knobs(case: Json) -> Json:
    mode = {"OHM_SUBAGENTS_UI_MODE": case["live_ui_mode"]} if "live_ui_mode" in case else {}
    return mode | {KNOBS[name]: value for name, value in case.get("store", {}).items()}


def _generator(case: Json) -> Callable[[], str]:
    given = case.get("task_ids")
    if given is None:
        numbers = iter(range(1, 10_000))
        return lambda: f"task_{next(numbers)}"
    names = chain(given, repeat(given[-1]))
    return lambda: next(names)


def _host(case: Json, calls: list[Json], begun: float) -> Json:
    """A host with a UI, for the cases that have one; it notes what it is told, and when."""
    mode = case.get("live_ui_mode")
    if mode is None and not any(step.get("has_ui") for step in case["steps"]):
        return {}
    from ohm_subagents.testing import MemoryHost

    class TimedHost(MemoryHost):
        def set_status(self, key: str, text: str | None) -> None:
            calls.append({"at_ms": milliseconds(begun), "call": "setStatus", "key": key, "text": text})

        def set_widget(self, key: str, lines: Iterable[str] | None) -> None:
            shown = None if lines is None else list(lines)
            calls.append({"at_ms": milliseconds(begun), "call": "setWidget", "key": key, "lines": shown})

    return {"host": TimedHost()}
