"""`pi --mode rpc`: one process that serves one session, a run after the other, and can be spoken to meanwhile."""

from __future__ import annotations

import json
import math
from contextlib import ExitStack
from itertools import count
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._backends.shell.backend import finished
from ohm_subagents._backends.shell.dialect import Ended, records
from ohm_subagents._backends.shell.pi import failures
from ohm_subagents.contract.result import Err, Result

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream

    from ohm_subagents._backends.shell.pi.kept import KeptReader
    from ohm_subagents._backends.shell.process import Child
    from ohm_subagents._plugins.interfaces import JsonObject, RunOutput, RunRequest, Sink
    from ohm_subagents.contract.errors import OhmError

_SETTLED: Final = Ended(code=0, was_stopped=True)
_RESPONSE: Final = b'"response"'
_HEAD: Final = 200
"""Where in a line its type is told, whatever the order of the first keys."""


class RpcProcess:
    """Gives prompts to a running pi. Nobody reads it between runs: an idle pi says nothing."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self._lines = child.lines()
        self._numbers = count(1)
        self._is_tidy = anyio.Event()
        self._is_tidy.set()

    def untidy(self) -> None:
        """Let the next run wait until `tidy` was done."""
        self._is_tidy = anyio.Event()

    async def tidy(self) -> None:
        """End what the commands of the last run have left running: never what those of the next one start."""
        try:
            await self.child.sweep()
        finally:
            self._is_tidy.set()

    async def converse(self, request: RunRequest, reader: KeptReader, sink: Sink) -> Result[RunOutput, OhmError]:
        """One run: the prompt, what is sent meanwhile, and what pi says until it has settled.

        Unless it ends with an answer the process is stopped: what it would do next is not ours any more.
        """
        talk = _Talk(request, reader, sink, self._numbers)
        result: Result[RunOutput, OhmError] | None = None
        try:
            await self._is_tidy.wait()
            await self._hold(talk, request)
            if not talk.is_over:
                result = finished(reader, await self.child.ended(), sink)
            elif talk.refused is not None:
                result = Err(talk.refused)
            else:
                result = finished(reader, _SETTLED, sink)
            return result
        finally:
            talk.close()
            if result is None or isinstance(result, Err) or not talk.is_over:
                self.child.stop()

    async def _hold(self, talk: _Talk, request: RunRequest) -> None:
        """Until pi has settled, or is gone."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._write, talk.outgoing)
            with ExitStack() as steering:
                is_open = request.inbox is None
                async for line in self._lines:
                    talk.hear(line)
                    if talk.is_over:
                        break
                    # Not before: a steer that overtakes the prompt would become a prompt of its own.
                    if not is_open and request.inbox is not None and talk.is_running:
                        steering.enter_context(request.inbox.steered_by(talk.steer, talk.steer))
                        is_open = True
            group.cancel_scope.cancel()

    async def _write(self, outgoing: MemoryObjectReceiveStream[bytes]) -> None:
        async for command in outgoing:
            await self.child.write(command)


class _Talk:
    """What was asked of pi in one run, and what is still to be heard."""

    def __init__(self, request: RunRequest, reader: KeptReader, sink: Sink, numbers: count[int]) -> None:
        self._request = request
        self._reader = reader
        self._sink = sink
        self._numbers = numbers
        self._asked: dict[str, str] = {}
        self._put_off: list[str] = []
        self._is_starting = True
        self.refused: OhmError | None = None
        self._send, self.outgoing = anyio.create_memory_object_stream[bytes](math.inf)
        self._ask(request.prompt)

    def close(self) -> None:
        """Nothing more will be said."""
        self._send.close()
        self.outgoing.close()

    @property
    def is_running(self) -> bool:
        """Pi is at work: what is said to it now reaches this run."""
        return not self._is_starting and not self._reader.is_over

    @property
    def is_over(self) -> bool:
        """Pi has settled, and whatever it was told since is answered: else it begins anew."""
        is_settled = self._reader.is_over and not (self._asked or self._is_starting)
        return self.refused is not None or is_settled

    def hear(self, line: bytes) -> None:
        """Take in a line."""
        if _RESPONSE in line[:_HEAD]:
            record = records(line)
            if record is not None and record.get("type") == "response":
                self._answer(record)
                return
        for event in self._reader.read(line):
            self._sink.emit(event)
        if self._reader.is_streaming:
            self._is_starting = False
        elif self._put_off:
            self._ask(self._put_off.pop(0))

    def steer(self, text: str) -> bool:
        """Say something to the run that goes on; if pi has just settled, it takes it as its next prompt."""
        if self.is_over:
            return False
        self._ask(text, streamingBehavior="steer")
        return True

    def _ask(self, text: str, **how: str) -> None:
        name = f"ohm-{next(self._numbers)}"
        self._asked[name] = text
        command = {"id": name, "type": "prompt", "message": text, **how}
        self._send.send_nowait(json.dumps(command).encode() + b"\n")

    def _answer(self, response: JsonObject) -> None:
        text = self._asked.pop(f"{response.get('id')}", None)
        if response.get("success") is True:
            # A prompt that is taken after pi had settled begins another turn.
            self._is_starting = self._is_starting or self._reader.is_over
        elif text is not None and self.is_running:
            self._put_off.append(text)  # it shortens its context, say, and takes nothing meanwhile
        else:
            said = f"{response.get('error') or 'pi refused the prompt'}"
            known = failures.refused(said, self._request)
            self.refused = known or failures.broken_off(self._request, code=0, stderr=said)
