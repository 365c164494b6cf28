"""The files beside the registry: a transcript a task, and outputs that are too large for a row."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents._store.place import file_name, make_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ohm_subagents.contract.ids import TaskId

_OPEN: Final = 64
_APPEND: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class TaskFiles:
    """Files of tasks in one directory; the newest few transcripts stay open. Raises OSError."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: OrderedDict[TaskId, int] = OrderedDict()
        self._torn: set[TaskId] = set()
        self._is_made = False

    def transcript(self, task_id: TaskId) -> Path:
        """Where the streamed events of a task are."""
        return self._directory / f"{file_name(task_id)}.jsonl"

    def append(self, task_id: TaskId, content: bytes, *, is_new: bool = False) -> None:
        """Put whole lines at the end, in the hands of the system; a new task begins a new file.

        When it fails, part of a line may be there; the next lines begin after it.
        """
        descriptor = self._descriptor(task_id, is_new=is_new)
        left = memoryview(b"\n" + content if task_id in self._torn else content)
        self._torn.add(task_id)
        while left:
            left = left[os.write(descriptor, left) :]
        self._torn.discard(task_id)

    def append_after_death(self, task_id: TaskId, content: bytes) -> None:
        """The same, after a writer that may have been killed in the middle of a line."""
        self.append(task_id, b"\n" + content)
        self.close(task_id)

    def close(self, task_id: TaskId) -> None:
        """Nothing more will be appended."""
        descriptor = self._open.pop(task_id, None)
        if descriptor is not None:
            os.close(descriptor)

    def close_all(self) -> None:
        for task_id in tuple(self._open):
            self.close(task_id)

    def begin_anew(self) -> None:
        """The directory may be gone: what follows opens its files again."""
        self.close_all()
        self._is_made = False

    def streamed(self, task_id: TaskId) -> bytes:
        """The transcript; empty if nothing was streamed."""
        try:
            return self.transcript(task_id).read_bytes()
        except OSError:
            return b""

    def write_outputs(self, task_id: TaskId, outputs: Mapping[int, str]) -> None:
        """One file an output; each appears whole, and never changes."""
        for number, text in outputs.items():
            file = self.output(task_id, number)
            self._make()
            draft = file.with_suffix(".draft")
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:  # noqa: PTH123  made private at once
                stream.write(text.encode(errors="replace"))
            draft.replace(file)

    def output(self, task_id: TaskId, number: int) -> Path:
        """Where the output of a run is that is too large for the row."""
        return self._directory / f"{file_name(task_id)}.{number}.txt"

    def outputs(self, task_id: TaskId, numbers: Iterable[int]) -> dict[int, str]:
        """Those that can be read."""
        found: dict[int, str] = {}
        for number in numbers:
            with suppress(OSError):
                found[number] = self.output(task_id, number).read_bytes().decode(errors="replace")
        return found

    def aside(self, task_id: TaskId) -> Path:
        """Where the row of a task is kept that was damaged."""
        return self._directory / f"{file_name(task_id)}.damaged.json"

    def put_aside(self, task_id: TaskId, columns: Mapping[str, object]) -> Path:
        """Keep a damaged row for whoever wants to look at it: as it is, with bytes that are no text as surrogates."""
        file = self.aside(task_id)
        self._make()
        legible = {name: _legible(value) for name, value in columns.items()}
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as stream:  # noqa: PTH123  made private at once
            json.dump(legible, stream, indent=2)
        return file

    def remove(self, task_id: TaskId, numbers: Iterable[int]) -> None:
        """The task is gone."""
        self.close(task_id)
        self._torn.discard(task_id)
        name = f"{self._directory}{os.sep}{file_name(task_id)}"  # a Path for each would cost more than the rest
        for file in (f"{name}.jsonl", *(f"{name}.{number}.txt" for number in numbers)):
            with suppress(OSError):
                os.unlink(file)  # noqa: PTH108  no Path is at hand

    def _descriptor(self, task_id: TaskId, *, is_new: bool) -> int:
        descriptor = self._open.get(task_id)
        if descriptor is None:
            self._make()
            flags = _APPEND | (os.O_TRUNC if is_new else 0)
            descriptor = os.open(self.transcript(task_id), flags, 0o600)
            self._open[task_id] = descriptor
            if len(self._open) > _OPEN:
                os.close(self._open.popitem(last=False)[1])
        else:
            self._open.move_to_end(task_id)
        return descriptor

    def _make(self) -> None:
        if not self._is_made:
            make_private(self._directory)
            self._is_made = True


def _legible(value: object) -> object:
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else value
