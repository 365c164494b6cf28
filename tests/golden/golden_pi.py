"""The reference's own backend with scripted runners: ours, on a scripted model and a scripted process.

What its runners answer, use and fail with is what these scripts say; real processes say it in tests/backends/shell.
"""

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from golden_backend import Pending, run_event
from golden_recording import Json

from ohm_subagents.backends.in_process import hooks
from ohm_subagents.contract import Err, ErrorCode, OhmError, Ok, Result, RouteResolved
from ohm_subagents.plugin import Backend, BackendSpec, Options, RunOutput, RunRequest, Sink
from ohm_subagents.shell.dialect import Ended
from ohm_subagents.shell.process import Child, Launch, Supervisor

IN_PROCESS = "interactive-sdk"
SHELL = "interactive-shell"
KNOWN = frozenset({"none", IN_PROCESS, SHELL, "custom-plugin"})
"""The backends of the reference; anything else it takes for the in-process one."""

ABOUT = {"--version": "0.74.2\n", "--help": "--mode --session --model --tools --no-session\n"}
"""The description that a pi gives of itself; the reference never asks."""

NOTHING_SAID = "(no output)"


class RecordedPi:
    """The double that both runners ask, which answers with the next entry of their list, the last one again and again.

    The in-process backend is played. The other one is ours, in text mode, with a process that is played.
    """

    def __init__(self, script: Json) -> None:
        self._sdk, self._cli = (_repeating(script.get(name, [])) for name in ("sdk", "cli"))
        self.calls: list[Json] = []
        self.pending: list[Pending] = []
        self.plugins: list[object] = []

    def configured(self, config: Json) -> Json:
        """The configuration of a case, with a command that is there wherever the case is played."""
        subagents = config.get("subagents", {})
        options = {SHELL: {"mode": "text", "command": [sys.executable]}}
        return {**config, "subagents": {**subagents, "backends": options}}

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While this is open, both runners are the scripted ones."""
        with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
            self.folder = Path(folder)
            patch.setattr(hooks, "interactive_sdk_spec", self._spec)
            patch.setattr(Supervisor, "open", self._supervised)
            yield

    def _spec(self, _context: Any) -> BackendSpec:
        return BackendSpec(id=IN_PROCESS, summary="Recorded.", options=Options, open=self._open)

    @asynccontextmanager
    async def _open(self, _options: Options) -> AsyncGenerator[Backend]:
        yield self

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """One call of the in-process runner."""
        model = None if request.model is None else str(request.model)
        self.calls.append({"runner": "sdk", "cwd": str(request.cwd), "model_pattern": model})
        entry = next(self._sdk)
        streamed = entry.get("stream", [])
        for event in streamed:
            sink.emit(run_event(event))
        await _passed(entry)
        failed = _failure(entry, request.task_id)
        if failed is not None:
            return Err(failed)
        for event in islice(entry.get("events", []), len(streamed), None):
            sink.emit(run_event(event))
        who = {key: entry[key] for key in ("provider", "model") if entry.get(key)}
        sink.emit(RouteResolved(**who, runtime="pi-sdk", route=IN_PROCESS))
        text = entry.get("output", "")
        return Ok(RunOutput(text=text if text.strip() else NOTHING_SAID))

    @asynccontextmanager
    async def _supervised(self, **_settings: Any) -> AsyncGenerator["RecordedPi"]:
        yield self

    async def start(self, launch: Launch) -> Result["RecordedChild", OhmError]:
        """One call of the command-line runner."""
        await checkpoint()
        arguments = list(launch.command)
        if arguments[-1] in ABOUT:
            return Ok(RecordedChild({"stdout": ABOUT[arguments[-1]]}, launch))
        model = arguments[arguments.index("--model") + 1] if "--model" in arguments else None
        prompt = (launch.prompt or b"").decode() or arguments[-1]
        self.calls.append({"runner": "cli", "cwd": launch.cwd.name, "model_pattern": model, "prompt": prompt})
        return Ok(RecordedChild(next(self._cli), launch))


class RecordedChild(Child):
    """A process that takes its time, says its lines and ends."""

    def __init__(self, entry: Json, launch: Launch) -> None:
        self._entry = entry
        self._launch = launch

    @property
    def pid(self) -> int:
        return 0

    async def write(self, data: bytes) -> None:
        await checkpoint()

    async def lines(self) -> AsyncIterator[bytes]:
        await _passed(self._entry)
        *lines, last = self._entry.get("stdout", "").encode().split(b"\n")
        for line in (*lines, last) if last else lines:
            yield line

    async def ended(self, within_s: float | None = None) -> Ended:
        await checkpoint()
        return Ended(code=self._entry.get("exitCode", 0), stderr=self._entry.get("stderr", ""))

    def sweep(self) -> None:
        """There is nothing to sweep."""

    def stop(self) -> None:
        self._launch.on_gone()


def _repeating(entries: list[Json]) -> Iterator[Json]:
    return chain(entries, repeat(entries[-1] if entries else {}))


async def _passed(entry: Json) -> None:
    """The time that a runner takes."""
    await checkpoint()
    if entry.get("delay_ms"):
        await anyio.sleep(entry["delay_ms"] / 1000)


def _failure(entry: Json, task_id: str) -> OhmError | None:
    """Return how the in-process runner failed, in the reference's words and order."""
    if entry.get("aborted"):
        return OhmError(code=ErrorCode.TASK_ABORTED, message=f"Task {task_id} was aborted")
    if entry.get("timedOut"):
        waited = f"Task {task_id} timed out while waiting for subagent backend response"
        return OhmError(code=ErrorCode.BACKEND_TIMEOUT, message=waited)
    if entry.get("error"):
        return OhmError(code=ErrorCode.BACKEND_FAILED, message=f"Task {task_id} backend failed: {entry['error']}")
    return None


def asked(recorded: Json) -> Json:
    """A recorded call of a runner, as far as ours is asked the same; a prompt that was abbreviated is not kept."""
    keys = ("runner", "cwd", "model_pattern")
    kept = {key: recorded[key] for key in keys}
    if recorded["runner"] == "cli" and not recorded["prompt"].startswith("<"):
        kept["prompt"] = recorded["prompt"]
    return kept
