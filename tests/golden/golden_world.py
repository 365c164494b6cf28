"""An open `Ohm` as a suite case wants it: its host, its scripted children, its clock, and the sessions it knows."""

import logging
import math
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from inspect import getclosurevars
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
from anyio.abc import TaskGroup
from golden_children import BACKEND_ID, ScriptedChildren
from golden_place import Place
from golden_recording import Json
from golden_suites import Case
from golden_time import passing_time
from golden_todos import set_up

from ohm_subagents import Ohm
from ohm_subagents._orchestrator.observe.log import LINES
from ohm_subagents._plugins.hooks.specs import PROJECT
from ohm_subagents.testing import MemoryHost

ENTRY = "pi-subagents"
EPOCH_MS = 1_750_000_000_000
DELEGATE, OUTPUT, SESSION = "delegate_to_subagents", "get_subagent_output", "get_subagent_session"

HOUSE: Mapping[str, tuple[str, ...]] = {
    "delegate": ("delegate",),
    "devkit": ("single",),
    "sticky": ("sticky",),
    "todos": ("todos",),
    "ohm": ("task", "primary"),
    "core": (),
}
"""Our names of the suites of the file; its cases about several suites name them."""
PRIMARY = {"oracle": {"primary": True}, "finder": {"primary": True}}
"""The subagents that have a tool of their own once they are marked: all those that the file knows are, here."""


class FailingHost(MemoryHost):
    """A host some of whose methods fail, so many times or always, after they were called."""

    def __init__(self, failing: Mapping[str, int | bool], **options: Any) -> None:
        super().__init__(**options)
        self._left = {name: math.inf if times is True else int(times) for name, times in failing.items()}
        self.entries_read = 0
        """The number of entries of its log that were given to somebody who read them."""

    def branch(self) -> Sequence[Json]:
        entries = super().branch()
        self.entries_read += len(entries)
        return entries

    def append_entry(self, kind: str, data: Json) -> None:
        super().append_entry(kind, data)
        self._fail("append_throws")

    def send_user_message(self, text: str, *, follow_up: bool = False) -> None:
        super().send_user_message(text, follow_up=follow_up)
        self._fail("send_throws")

    def set_widget(self, key: str, lines: Sequence[str] | None, **options: Any) -> None:
        super().set_widget(key, lines, **options)
        self._fail("widget_throws")

    def _fail(self, name: str) -> None:
        if self._left.get(name, 0) > 0:
            self._left[name] -= 1
            raise OSError(name)


class Warnings(logging.Handler):
    """Keeps what was warned of, as a logger of the `Ohm` and of the whole package; events are no warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self._events = {line.name for line in LINES.values()}

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear what is said to the package's own logger."""
        package = logging.getLogger(PROJECT)
        package.addHandler(self)
        try:
            yield
        finally:
            package.removeHandler(self)

    def info(self, event: str, **fields: object) -> None:
        pass

    def warning(self, event: str, **fields: object) -> None:
        if event not in self._events:
            self.lines.append(f"{event} {fields}")

    error = exception = warning


class ChosenDigits(str):
    """The digits of a UUID, the first of which are always all of them."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> str:
        return str(self)


class ChosenUuid(UUID):
    """Stands for the UUID of a session whose id the case has chosen, be it one that no UUID has."""

    def __init__(self, digits: str) -> None:
        super().__init__(int=0)
        object.__setattr__(self, "_digits", ChosenDigits(digits))

    @property
    def hex(self) -> str:
        return self._digits


class World:
    """The world that a case acts on, and what can be seen of it afterwards."""

    def __init__(self, case: Case, place: Place, group: TaskGroup) -> None:
        self.setup = case.setup
        self.place = place
        self.case = case
        self.children = ScriptedChildren(self.setup.get("children", {}), self.setup.get("child_runs", ()))
        if "child" in self.setup:
            self.children.every(self.setup["child"])
        self.host = self._new_host()
        self.warnings = Warnings()
        self.env = dict(self.setup.get("env", {}))
        self.level = int(self.env.pop("PI_SUBAGENT_DEPTH", 0)) if self.setup.get("call_executor_directly") else 0
        self._group = group
        self._begun = anyio.current_time()
        self._stamp: int | None = None
        self._chosen: list[str] = []
        self.ohm: Ohm

    def _new_host(self) -> MemoryHost:
        settled = [
            entry(run) for known in self.setup.get("sessions", {}).values() for run in known["runs"] if not running(run)
        ]
        branch = [*settled, *self.setup.get("session_entries", []), *self.setup.get("branch", [])]
        tools = [name for key in ("tools", "active_tools", "parent_tools") for name in self.setup.get(key, [])]
        failing = {key: times for key, times in self.setup.items() if key.endswith("_throws")}
        if "send_user_message_raises" in self.setup:
            failing["send_throws"] = self.setup["send_user_message_raises"]
        broken = [times for key, times in self.setup.items() if key.startswith("append") and times]
        if broken:
            failing["append_throws"] = broken[0]
        file, has_ui = self.place.home / "sessions" / "parent.jsonl", self.setup.get("has_ui", True)
        return FailingHost(failing, branch=branch, tools=tools, has_ui=has_ui, file=file)

    def now_ms(self) -> int:
        if self._stamp is not None:
            return self._stamp
        return EPOCH_MS + round((anyio.current_time() - self._begun) * 1000)

    def new_uuid(self) -> UUID | ChosenUuid:
        return ChosenUuid(self._chosen.pop(0)) if self._chosen else uuid4()

    # Sessions of before

    async def know_sessions(self) -> None:
        """Let the library learn of the sessions of the case as it would in life, then forget that they ran."""
        known = self.setup.get("sessions", {})
        if any(not running(run) for one in known.values() for run in one["runs"]):
            await self.ohm.emit("session_start", {"reason": "resume"})
        for session_id, one in known.items():
            for number, run in enumerate(one["runs"]):
                if running(run):
                    await self.run_session(session_id, run, resumes=number > 0)
        self.children.forget()
        self.host.calls.clear()
        self.host.entries_read = 0

    async def learn(self, runs: list[Json]) -> None:
        """The same for runs of any sessions, in their order: behind one that goes on the others are run too."""
        first = next((number for number, run in enumerate(runs) if running(run)), len(runs))
        for run in runs[:first]:
            self.host.append_entry(ENTRY, run)
        await self.ohm.emit("session_start", {"reason": "resume"})
        for number, run in enumerate(runs[first:], first):
            resumes = any(one["sessionId"] == run["sessionId"] for one in runs[:number])
            await self.run_session(run["sessionId"], run, resumes=resumes)

    async def run_session(self, session_id: str, run: Json, *, resumes: bool) -> None:
        """A run as it was; the child of one that goes on has said the messages and hangs."""
        name = run.get("taskName", "unnamed")
        self.children.add(name, {"messages": run["messages"], "hang": running(run)})
        task = {"name": name, "prompt": run["prompt"]}
        if resumes:
            task["resume"] = session_id
        else:
            self._chosen.append(session_id)
        self._stamp = run.get("startedAt")
        self._group.start_soon(self.ohm.call, DELEGATE, {"tasks": [task]})
        await anyio.wait_all_tasks_blocked()
        self._stamp = None

    # What is kept

    async def kept(self) -> dict[str, list[Json]]:
        """The sessions that can be retrieved, of all that this case ever named, each with its runs.

        What the tool tells of a run stands above the record of it, which has the rest.
        """
        inner = getclosurevars(self.ohm.tools[SESSION].execute).nonlocals["tool"]
        retrieval, _is_deep = inner.execute.args
        _context, sessions, _told = retrieval.execute.args
        found = {}
        for session_id in self._named():
            told = await self.ohm.call(SESSION, {"sessionId": session_id})
            if not told.is_error:
                records = [run.payload() for run in await sessions.find(session_id)]
                runs = zip(records, told_runs(told.text, told.details), strict=True)
                found[session_id] = [{**record, **run} for record, run in runs]
        return found

    def _named(self) -> list[str]:
        entries = [one.get("data") for one in self.host.branch() if isinstance(one, dict)]
        in_entries = [data.get("sessionId") for data in entries if isinstance(data, dict)]
        named = [*in_entries, *self.setup.get("sessions", {}), *self._running_ids]
        return list(dict.fromkeys(one for one in named if isinstance(one, str)))

    @property
    def _running_ids(self) -> list[str]:
        return [str(request.session_id) for request in self.children.ever]

    def appended(self) -> list[tuple[str, Json]]:
        """The entries that were appended to the host's log, with their types."""
        return [(str(call[1]), call[2]) for call in self.host.calls if call[0] == "append_entry"]


def entry(run: Json) -> Json:
    """A run as an entry of the host's session log."""
    return {"type": "custom", "customType": ENTRY, "data": run}


def running(run: Json) -> bool:
    return run.get("status") == "running"


def told_runs(text: str, details: Json) -> list[Json]:
    """Return what `get_subagent_session` tells of each run, most of it of the latest."""
    blocks: Sequence[str] = [text]
    if details["runCount"] > 1:
        headed = f"\n---\n{text}".split("\n---\n=== Run ")[1:]
        heads, blocks = zip(*(block.partition("\n")[::2] for block in headed), strict=True)
        runs: list[Json] = [{"status": head[head.index("(") + 1 : head.index(")")]} for head in heads]
    else:
        runs = [{"status": details["status"]}]
    for run, block in zip(runs, blocks, strict=True):
        last = block.rpartition("\n")[2]
        if last.startswith("[Error: ") and last.endswith("]"):
            run["errorMessage"] = last[len("[Error: ") : -1]
        run["text"] = block
    runs[-1] |= {key: details[key] for key in ("status", "taskName", "exitCode", "model") if key in details}
    return runs


@asynccontextmanager
async def opened(case: Case, root: Path, suites: tuple[str, ...]) -> AsyncGenerator[World]:
    """The case's world, closed at the end with everything that still runs in it."""
    place = Place.below(root)
    case = place.filled(case)
    place.prepare(case.setup)
    async with passing_time(), anyio.create_task_group() as group:
        world = World(case, place, group)
        async with Ohm.open(
            cwd=place.cwd,
            config={"subagentBackend": BACKEND_ID, "subagents": PRIMARY},
            env=place.env(world.env),
            plugins=[world.children],
            suites=suites,
            clock=world.now_ms,
            host=world.host,
            logger=world.warnings,
            new_uuid=world.new_uuid,
            trust=True,
        ) as ohm:
            world.ohm = ohm
            await world.know_sessions()
            if "todos" in case.setup:
                await set_up(ohm, world.host, case.setup["todos"])
            if case.setup.get("call_executor_directly"):
                place.configure_devkit(case.setup)
            with world.warnings.listening():
                yield world
            group.cancel_scope.cancel()
