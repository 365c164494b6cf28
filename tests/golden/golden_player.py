"""Plays a recorded case step by step and notes every difference."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from typing import Any

import anyio
from anyio.abc import TaskGroup
from golden_backend import RecordedBackend
from golden_differences import difference
from golden_frames import Frame, Screen, documented, frame_differences
from golden_pi import RecordedPi, asked
from golden_quirks import POLL_MS, comparable_debug, comparable_lines, masked, mended, named, tags_of, tags_of_result
from golden_recording import Json, recording
from golden_seams import Subject, milliseconds, opened
from golden_texts import document_text, refusal, without_reason

from ohm_subagents.contract import Task
from ohm_subagents.plugin import ToolResult

STATIC_BACKEND = "interactive-sdk"
"""The name of the backend in an envelope when there is no configuration (task-v1, 21.1)."""

PENDING_LIMIT_S = 2.0
ADDED = {"expired", "launches"}
"""The keys that we add to the file of tasks."""
THROTTLE_MS = 120
"""The reference's own, which stands where the environment has no number above 0."""


@dataclass(kw_only=True)
class Call:
    """A tool call under way or done."""

    step: Json
    begun: float
    frames: list[Frame]
    first_frame: int
    done: anyio.Event = field(default_factory=anyio.Event)
    result: ToolResult | None = None


async def play(case: Json, kind: "type[Player] | None" = None) -> list[str]:
    """The differences between what was recorded and what ours does; none is a pass."""
    kind = kind or Player
    script = case["backend"]
    backend = RecordedPi(script) if script.get("type") == "pi" else RecordedBackend(script)
    async with opened(case, backend) as subject, anyio.create_task_group() as group:
        player = kind(case, subject, backend, group)
        if "expect_initial_load" in case:
            player.where = "at the start"
            player.check_loaded(case["expect_initial_load"])
        for number, step in enumerate(case["steps"]):
            player.where = f"step {number} ({step['do']})"
            await player.steps[step["do"]](step)
            await anyio.wait_all_tasks_blocked()
        await player.finish()
        player.where = "at the end"
        player.check_calls()
        group.cancel_scope.cancel()
    return player.differences


class Player:
    """The state of one case."""

    def __init__(self, case: Json, subject: Subject, backend: RecordedBackend | RecordedPi, group: TaskGroup) -> None:
        self.differences: list[str] = []
        self.where = ""
        self._case = case
        self._tags = tags_of(case)
        self._subject = subject
        self._backend = backend
        self._group = group
        self._begun = anyio.current_time()
        self._signals: dict[str, anyio.Event] = {}
        self._spawned: dict[str, Call] = {}
        self._callbacks: dict[str, list[Frame]] = {}
        self._primary_ids: set[str | None] = set(_kept_as_primary(case))
        self._waits = 0
        self._names = {entry["id"]: entry["name"] for entry in recording().catalog}
        self.steps = {
            "call": self._call,
            "primary": self._call,
            "spawn": self._spawn,
            "join": self._join,
            "release": self._release,
            "emit": self._emit,
            "advance": self._advance,
            "abort": self._abort,
            "set_config": self._set_config,
            "set_env": self._set_env,
            "drop_profile": self._drop_profile,
            "states": self._states,
            "snapshot": self._snapshot,
            "write_file": self._write_file,
            "reload": self._reload,
            "ui_calls": self._ui_calls,
        }

    async def finish(self) -> None:
        """Whatever is left to be done after the last step."""

    # Steps

    async def _call(self, step: Json) -> None:
        call = self._prepared(step)
        if step["expect"].get("pending"):
            with anyio.move_on_after(PENDING_LIMIT_S):
                await self._run(call)
                self._differs("it should still be waiting", None, call.result and call.result.details)
        elif "rejects" in step["expect"]:
            self._differs("the reference threw; a library must not", step["expect"], None)
        else:
            await self._run(call)
            await self._check_result(call, step["expect"])

    async def _spawn(self, step: Json) -> None:
        call = self._spawned[step["as"]] = self._prepared(step)
        self._group.start_soon(self._run, call)
        await anyio.wait_all_tasks_blocked()
        self._same("settled", step["expect"]["settled"], call.done.is_set())

    async def _join(self, step: Json) -> None:
        call = self._spawned[step["as"]]
        await call.done.wait()
        await self._check_result(call, step["expect"])

    async def _release(self, step: Json) -> None:
        if step["call"] < len(self._backend.pending):
            self._backend.pending[step["call"]].release(step["result"])
        else:
            self._differs("no such pending call", step["call"], len(self._backend.pending))

    async def _emit(self, step: Json) -> None:
        self._backend.pending[step["call"]].emit(step["events"])

    async def _advance(self, step: Json) -> None:
        await anyio.sleep(step["ms"] / 1000)

    async def _abort(self, step: Json) -> None:
        self._signal(step["signal"]).set()

    async def _set_config(self, step: Json) -> None:
        await self._subject.set_config(step["patch"])

    async def _set_env(self, step: Json) -> None:
        await self._subject.set_env(step["env"])

    async def _drop_profile(self, step: Json) -> None:
        await self._subject.drop_profile(next(value for key, value in step.items() if key != "do"))

    async def _states(self, step: Json) -> None:
        wanted = [self._listing(one) for one in step["expect"]["states"]]
        self._same("states", wanted, self._listed())

    def _listing(self, recorded: Json) -> Json:
        """A recorded entry of the registry's list; the summary of a cancelled one has the profile's name (Q52)."""
        is_named = "Q52" in self._tags and recorded.get("state") == "cancelled"
        return {**recorded, "summary": named(recorded["summary"], self._names)} if is_named else recorded

    def _listed(self) -> list[Json]:
        return [_state(task) for task in self._subject.tasks()]

    async def _snapshot(self, step: Json) -> None:
        file, text = await self._read_file(), await self._subject.snapshot()
        self._same("the file", step["expect"]["file"], file and {key: file[key] for key in file if key not in ADDED})
        if text is not None:
            self._same("a newline at its end", step["expect"]["ends_with_newline"], text.endswith("\n"))

    async def _read_file(self) -> Json | None:
        text = await self._subject.snapshot()
        return None if text is None else without_stamps(json.loads(text))

    async def _write_file(self, step: Json) -> None:
        self._subject.write_file(next(value for key, value in step.items() if key != "do"))

    async def _reload(self, step: Json) -> None:
        await self._subject.reload()
        self.check_loaded(step["expect"])

    def check_loaded(self, expect: Json) -> None:
        """Check what the registry said of the file that it found, and which files there are then."""
        self._same("diagnostics", expect["diagnostics"], self._subject.diagnostics())
        self._same("files", expect["files"], self._subject.files())

    async def _ui_calls(self, step: Json) -> None:
        seen = list(self._subject.ui)
        self._subject.ui.clear()
        wanted = [{key: value for key, value in one.items() if key != "options"} for one in step["expect"]["calls"]]
        self._same("UI calls", without_tool_counts(wanted), without_tool_counts(seen))

    # Calls

    def _prepared(self, step: Json) -> Call:
        frames = self._callbacks.setdefault(step["callback"], []) if "callback" in step else []
        call = Call(step=step, begun=anyio.current_time(), frames=frames, first_frame=len(frames))
        payload = step["payload"]
        self._waits += isinstance(payload, dict) and payload.get("op") == "wait"
        return call

    async def _run(self, call: Call) -> None:
        step = call.step

        def on_update(frame: ToolResult) -> None:
            call.frames.append(Frame(at_ms=milliseconds(self._begun), details=frame.details, text=frame.text))

        call.result = await self._subject.call(
            step.get("subagent", "task"),
            step["payload"],
            on_update=on_update if step.get("updates") or "callback" in step else None,
            abort=self._signal(step["signal"]) if "signal" in step else None,
        )
        if step["do"] == "primary":
            self._primary_ids.add(call.result.details.get("task_id"))
        call.done.set()

    def _signal(self, name: str) -> anyio.Event:
        return self._signals.setdefault(name, anyio.Event())

    # Comparison

    async def _check_result(self, call: Call, expect: Json) -> None:
        result = call.result
        assert result is not None
        self._check_details(expect["details"], result.details)
        tags = self._tags | tags_of_result(expect["details"])
        text = self._document_text(expect["text"], expect["details"])
        self._check_text("text", text, result.render(), tags)
        expanded = self._document_text(expect.get("text_expanded", expect["text"]), expect["details"])
        self._check_text("expanded text", expanded, result.render(expanded=True), tags)
        self._check_elapsed(expect["elapsed_ms"], milliseconds(call.begun))
        if "updates" in expect:
            self._check_frames(call, expect["updates"])
        if "text_debug" in expect:
            collapsed, expanded = await self._subject.debug_texts(result)
            self._check_debug("debug text", expect["text_debug"], collapsed, tags)
            wanted = expect.get("text_debug_expanded", expect["text_debug"])
            self._check_debug("expanded debug text", wanted, expanded, tags)

    def _check_details(self, recorded: Json, ours: Json) -> None:
        wanted = self._wanted(recorded)
        self._same("details", wanted, masked(refusal(documented(ours), wanted), wanted))

    def _wanted(self, recorded: Json) -> Json:
        wanted = mended(recorded, self._tags, primary_ids=self._primary_ids, names=self._names)
        if self._case.get("config_load_fails"):
            wanted |= dict.fromkeys(("backend", "runtime", "route"), STATIC_BACKEND)
        return wanted

    def _document_text(self, recorded: str, details: Json) -> str:
        """In debug texts there are no trees."""
        return recorded if "OHM_DEBUG" in self._case.get("env", {}) else document_text(recorded, details)

    def _check_text(self, name: str, recorded: str, ours: str, tags: set[str]) -> None:
        if "Q49" in tags:  # the message is in the text
            return
        ours = without_reason(recorded, ours)
        if "OHM_DEBUG" in self._case.get("env", {}):
            self._check_debug(name, recorded, ours, tags)
        else:
            self._same(name, *comparable_lines(recorded, ours, tags))

    def _check_debug(self, name: str, recorded: str, ours: str, tags: set[str]) -> None:
        if "Q49" not in tags:
            self._same(name, comparable_debug(recorded, tags), comparable_debug(ours, tags))

    def _check_elapsed(self, recorded: int, ours: int) -> None:
        if not recorded - POLL_MS * self._waits < ours + 1 <= recorded + 1:
            self._differs("elapsed_ms", recorded, ours)

    def _check_frames(self, call: Call, recorded: list[Json]) -> None:
        wanted = [self._wanted(frame["details"]) for frame in recorded]
        shows = self._case.get("live_ui_mode", "off") != "off"
        screen = Screen(throttle_ms=self._throttle_ms(), has_ui=call.step.get("has_ui", False), shows_status=shows)
        for difference_found in frame_differences(recorded, wanted, call.frames[call.first_frame :], screen):
            self._differs(*difference_found)

    def _throttle_ms(self) -> int:
        given = str(self._case.get("env", {}).get("OHM_SUBAGENTS_ONUPDATE_THROTTLE_MS", ""))
        return int(given) if given.isdecimal() and int(given) > 0 else THROTTLE_MS

    def check_calls(self) -> None:
        """Check what the backend was asked; a run that was aborted before it began need not reach ours."""
        if isinstance(self._backend, RecordedPi):
            wanted = [asked(call) for call in self._case.get("runner_calls", [])]
            found = [_like(*pair) for pair in zip_longest(self._backend.calls, wanted, fillvalue={})]
            self._same("calls of the runners", wanted, found)
            return
        keys = ("kind", "task_id", "subagent", "description", "prompt", "cwd")
        recorded = self._case.get("backend_calls", [])
        never_begun = [{key: call[key] for key in keys} for call in recorded if call["aborted_on_entry"]]
        wanted = [{key: call[key] for key in keys} for call in recorded if not call["aborted_on_entry"]]
        self._same("backend calls", wanted, [call for call in self._backend.calls if call not in never_begun])
        if not never_begun and "peak_concurrency" in self._case:
            self._same("peak concurrency", self._case["peak_concurrency"], self._backend.peak)

    def _same(self, name: str, recorded: Any, ours: Any) -> None:
        if recorded != ours:
            self._differs(name, recorded, ours)

    def _differs(self, name: str, recorded: Any, ours: Any) -> None:
        self.differences.append(f"{self.where}: {name}\n{difference(recorded, ours)}")


def _like(call: Json, pattern: Json) -> Json:
    """As much of our call of a runner as the case has kept of its own; all of one that it has not."""
    return {key: value for key, value in call.items() if not pattern or key in pattern}


def _kept_as_primary(case: Json) -> Iterable[str]:
    """The tasks of the file that a direct tool started."""
    file = case.get("initial_file")
    entries = file.get("entries", []) if isinstance(file, dict) else []
    return [one["record"]["id"] for one in entries if isinstance(one, dict) and one["invocation"] == "primary-tool"]


def without_stamps(value: Any) -> Any:
    """Every stamp of a snapshot file as it is recorded."""
    if isinstance(value, list):
        return [without_stamps(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: 0 if key.endswith("EpochMs") else without_stamps(inner) for key, inner in value.items()}


def _state(task: Task) -> Json:
    """A task as the reference's registry lists it; it counts runs as tool calls (Q44)."""
    shown = {
        "id": task.id,
        "state": task.status,
        "summary": task.summary,
        "total_tool_calls": len(task.runs),
        "active_tool_calls": sum(run.outcome is None for run in task.runs),
        "follow_up_prompts": [run.prompt.strip() for run in task.runs[1:]],
        "event_count": len(task.activity.events),
    }
    if task.output:
        shown["output"] = task.output
    if task.error is not None:
        shown["error_code"] = str(task.error.code)
    return shown


def without_tool_counts(calls: list[Json]) -> list[Json]:
    """Q44: the recorded status line counts runs as tools, so one that differs in that alone is the same again."""
    shown = [
        {name: re.sub(r"tools \d+ active", "tools n active", value) if isinstance(value, str) else value}
        for call in calls
        for name, value in call.items()
    ]
    return [call for before, call in pairwise([{}, *shown]) if call != before]
