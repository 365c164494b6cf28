"""The library as the recorded cases use it: every seam that they need, once."""

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, chdir, contextmanager
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus
from golden_backend import RecordedBackend
from golden_pi import RecordedPi
from golden_recording import Json, deep_merged, recording

from ohm_subagents import Ohm
from ohm_subagents._profiles.shipped import shipped_profiles
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

SHIPPED = {profile.id: profile for profile in shipped_profiles()}


class Subject:
    """An open `Ohm` and what a case may change of its surroundings."""

    def __init__(self, case: Json, backend: RecordedBackend | RecordedPi, folder: Path, group: TaskGroup) -> None:
        self._group = group
        self._case = case
        self._backend = backend
        self._folder = folder
        self._config = backend.configured(deep_merged(recording().base_config, case.get("config", {})))
        self._env = {**_knobs(case), **_keeping(case, folder), **case.get("env", {})}
        self._profiles = catalog(primary={step["subagent"] for step in case["steps"] if step["do"] == "primary"})
        self._begun = anyio.current_time()
        self._new_task_id = _generator(case)
        self.ui: list[Json] = []
        if "initial_file" in case:
            self.write_file(case["initial_file"])

    async def open(self) -> None:
        """Each `Ohm` has a task of its own, so that a step may close it and open the next."""
        self._close, self._closed = anyio.Event(), anyio.Event()
        self._ohm = await self._group.start(self._hold)

    async def _hold(self, *, task_status: TaskStatus[Ohm]) -> None:
        async with Ohm.open(
            cwd=recording().cwd,
            config=Path("no-such-ohm.json") if self._case.get("config_load_fails") else self._config,
            env=environment(self._env),
            plugins=self._backend.plugins,
            profiles=self._profiles,
            clock=lambda: milliseconds(self._begun),
            new_task_id=self._new_task_id,
            **_host(self._case, self.ui, self._begun),
        ) as ohm:
            task_status.started(ohm)
            await self._close.wait()
        self._closed.set()

    async def close(self) -> None:
        self._close.set()
        await self._closed.wait()

    async def reload(self) -> None:
        """Load the file as it is now, like a process that starts after this one was killed."""
        left = await self.snapshot()
        await self.close()
        if left is not None:
            self._file.write_text(left, encoding="utf-8")
        await self.open()

    async def snapshot(self) -> str | None:
        """The text of the snapshot file."""
        await self._ohm.store.flush()
        return self._file.read_text(encoding="utf-8") if self._file.exists() else None

    def write_file(self, content: Any) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        self._file.write_text(text, encoding="utf-8")

    @property
    def _file(self) -> Path:
        return self._folder / "ohm.subagents.tasks.json"

    def diagnostics(self) -> list[str]:
        """Return what the store says, as it is recorded."""
        return [_without_place(one.message, self._folder) for one in self._ohm.store.diagnostics]

    def files(self) -> list[str]:
        return sorted(_without_place(file.name, self._folder) for file in self._folder.iterdir())

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
        return self._ohm._engine.store.tasks()


@contextmanager
def _working_directory() -> Iterator[None]:
    """A place with the directory that the recorded calls were made in."""
    with TemporaryDirectory() as above, chdir(above):
        Path(recording().cwd).mkdir()
        yield


@asynccontextmanager
async def opened(case: Json, backend: RecordedBackend | RecordedPi) -> AsyncGenerator[Subject]:
    """The library set up as the case wants it, closed at the end."""
    with TemporaryDirectory() as folder, _working_directory(), backend.in_place():
        async with anyio.create_task_group() as group:
            subject = Subject(case, backend, Path(folder), group)
            await subject.open()
            yield subject
            await subject.close()


def milliseconds(since: float) -> int:
    """Virtual time since a moment of the event loop's clock."""
    return round((anyio.current_time() - since) * 1000)


def environment(patch: Mapping[str, Any]) -> dict[str, str]:
    """Return what a process would see; None unsets."""
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


def _keeping(case: Json, folder: Path) -> Json:
    """Return where a case that keeps its tasks does so."""
    return {"OHM_SUBAGENTS_STORE": "snapshot", "PI_CONFIG_DIR": str(folder)} if case.get("persistence") else {}


def _without_place(text: str, folder: Path) -> str:
    return re.sub(r"(\.corrupt-)\d+", r"\g<1>0", text.replace(str(folder), "<dir>"))


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
