"""The file of expected behaviour of the documented tool suites: which one, its cases, what its markers stand for."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from golden_recording import Json

HERE = Path(__file__).parent
DEFAULT = HERE / "suites.json"
FURTHER = HERE / "suites-more.json"

SHARED = "subagent"
SHARING = frozenset({"devkit", "sticky"})
"""The suites of the file that both have a tool of this name. The file has one tool for both of them there, a façade;
here each keeps its own, and the later one is named after its suite: `suites-more.json` has the cases of that rule."""
REPLACED = "no façade for two tools: each keeps its name, the later one with its suite (see suites-more.json)"

CORE = "core"
"""The suite of the cases about several suites on one host."""

ABOUT = frozenset({"area", "name", "source", "basis", "note"})
"""The parts of a case for people only."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case, as the file has it: markers and placeholders are still to be filled in."""

    id: str
    suite: str
    setup: Json
    call: Json
    expect: Json
    unknown: tuple[str, ...] = ()

    @property
    def fault(self) -> str | None:
        """Return why nobody could play it."""
        if self.unknown or not (self.call and self.expect):
            return f"it has the unknown parts {[*self.unknown]}, or calls nothing, or expects nothing"
        return None

    @property
    def mounted(self) -> tuple[str, ...]:
        """The suites that its host has: those it names, else its own."""
        named = self.call.get("mount_all") or self.call.get("mount") or self.suite
        return (named,) if isinstance(named, str) else tuple(named)

    @property
    def why_skipped(self) -> str | None:
        """It is about the façade."""
        called = [self.call.get(form) for form in ("tool", "schema", "render_call", "render_result")]
        return REPLACED if SHARED in called and set(self.mounted) >= SHARING and self.suite == CORE else None


def suite_file() -> Path:
    """The file that OHM_GOLDEN_SUITES names, else the copy beside this module."""
    return Path(os.environ.get("OHM_GOLDEN_SUITES") or DEFAULT)


def cases(file: Path) -> list[Case]:
    """The cases of a file."""
    return [case(one) for one in json.loads(file.read_text(encoding="utf-8"))["cases"]]


def chosen(file: Path) -> list[Case]:
    """The cases of a file, of one suite if OHM_GOLDEN_SUITE names one."""
    found, only = cases(file), os.environ.get("OHM_GOLDEN_SUITE")
    if only and only not in (suites := {one.suite for one in found}):
        message = f"OHM_GOLDEN_SUITE is {only!r}; {file.name} has the suites {', '.join(sorted(suites))}."
        raise ValueError(message)
    return [one for one in found if only in (None, "", one.suite)]


def case(content: Json) -> Case:
    """A case with all its parts."""
    parts = {"setup": {}, "call": {}, "expect": {}, **content}
    unknown = set(parts) - {"id", "suite", "setup", "call", "expect"} - ABOUT
    kept = {name: one for name, one in parts.items() if name not in unknown | ABOUT}
    return Case(**kept, unknown=tuple(sorted(unknown)))


def filled(value: Any, places: Mapping[str, str]) -> Any:
    """The value with its markers and placeholders replaced by what they stand for."""
    if isinstance(value, str):
        for name, place in places.items():
            value = value.replace(name, place)
        return value
    if isinstance(value, list):
        return [filled(one, places) for one in value]
    if not isinstance(value, dict):
        return value
    inner = {filled(key, {}): filled(one, places) for key, one in value.items()}
    (name, *others) = inner or ("",)
    if not name.startswith("$") or name.startswith(tuple(places)):
        return {filled(key, places): one for key, one in inner.items()}
    if others or name not in MARKERS:
        message = f"{name} is no marker that this runner knows."
        raise ValueError(message)
    return MARKERS[name](inner[name])


def _counted(spec: Any, key: str = "count") -> tuple[int, Json]:
    """A marker's argument: a number, or an object that has it."""
    return (spec, {}) if isinstance(spec, int) else (spec[key], spec)


def _numbered(text: str, index: int) -> str:
    return text.replace("{i}", str(index))


def _repeat(spec: Json) -> str:
    return spec["text"] * spec["count"]


def _todos(spec: Any) -> list[Json]:
    count, given = _counted(spec)
    status = {"status": given["status"]} if "status" in given else {}
    return [{"text": _numbered(given.get("text", "task {i}"), index), **status} for index in range(count)]


def _tasks(spec: Any) -> list[Json]:
    return [{"name": f"t{index}", "prompt": "p"} for index in range(_counted(spec)[0])]


def _messages(spec: Any) -> list[Json]:
    return [{"role": "user", "content": "m"} for _ in range(_counted(spec)[0])]


def _run(spec: Json, *, session_id: str, task: str, started_at: int) -> Json:
    run = {"sessionId": session_id, "taskName": task, "prompt": "p", "status": "completed", "messages": []}
    return {**run, "exitCode": 0, "startedAt": started_at, **spec.get("run", {})}


def _sessions(spec: Json) -> list[Json]:
    """One-run sessions, as runs."""
    start, step = spec.get("start", 0), spec.get("step", 1)
    ids = [_numbered(spec["id"], index) for index in range(spec["count"])]
    return [
        _run(spec, session_id=one, task=spec.get("task", one), started_at=start + index * step)
        for index, one in enumerate(ids)
    ]


def _runs(spec: Json) -> list[Json]:
    """Runs of one session."""
    start, step = spec.get("start", 0), spec.get("step", 1)
    return [
        _run(spec, session_id=spec["id"], task=_numbered(spec["task"], index), started_at=start + index * step)
        for index in range(spec["count"])
    ]


def _ls(spec: Json) -> str:
    files = [f"file{index}.txt" for index in range(spec.get("files", 0))]
    return "\n".join([*files, *(f"dir{index}/" for index in range(spec.get("dirs", 0)))])


MARKERS: Mapping[str, Callable[[Any], Any]] = {
    "$repeat": _repeat,
    "$concat": "".join,
    "$todos": _todos,
    "$tasks": _tasks,
    "$messages": _messages,
    "$sessions": _sessions,
    "$runs": _runs,
    "$size": lambda count: b"a" * count,
    "$hex": bytes.fromhex,
    "$lines": lambda count: "\n".join(f"l{number}" for number in range(1, count + 1)),
    "$ls": _ls,
}
