"""`pi --mode rpc`: one process that serves one session, a run after the other, and can be spoken to meanwhile."""

from __future__ import annotations

import json
import math
from collections import deque
from contextlib import ExitStack
from itertools import count
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.backends.pi import failures
from ohm_subagents.backends.pi.call_gate import CallGate, is_gated, unloaded
from ohm_subagents.backends.pi.records import text_of
from ohm_subagents.plugin import Diagnostic, DiagnosticRaised, Err, Ok, Result
from ohm_subagents.redaction import redacted_line
from ohm_subagents.shell import Ended, finish_run, records

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream

    from ohm_subagents.backends.pi.call_gate import AskedCall
    from ohm_subagents.backends.pi.session_reader import SessionReader
    from ohm_subagents.plugin import JsonObject, OhmError, RunOutput, RunRequest, Sink
    from ohm_subagents.shell import Child

_READY: Final = "ohm-ready"
"""The id of the command whose answer shows that all extensions were loaded."""
_SETTLED: Final = Ended(code=0, was_stopped=True)
_HEAD: Final = 200
"""The type of a record is within so many first bytes, whatever the order of its keys."""


class RpcProcess:
    """Gives prompts to a running pi. Nobody reads it between runs: an idle pi says nothing."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self._lines = child.lines()
        self._numbers = count(1)
        self._family: Collection[int] | None = None
        self._calls = CallGate()
        self._is_tidy = anyio.Event()
        self._is_tidy.set()

    def untidy(self) -> None:
        """Let the next run wait until `tidy` was done."""
        self._is_tidy = anyio.Event()

    async def tidy(self) -> None:
        """End what the commands of the last run have left running: never what those of the next one start."""
        try:
            await self.child.sweep(spare=self._family or ())
        finally:
            self._is_tidy.set()

    async def converse(
        self, request: RunRequest, reader: SessionReader, sink: Sink, *, secrets: Sequence[str]
    ) -> Result[RunOutput, OhmError] | None:
        """One run: the prompt, what is sent meanwhile, and what pi says until it has settled.

        None if pi, which has served before, was gone before it got the prompt. Unless a run ends with an answer the
        process is stopped: what it would do next is not ours any more.
        """
        has_served = self._family is not None
        talk = _Talk(request, reader, sink, self._numbers, secrets=secrets, calls=self._calls)
        result: Result[RunOutput, OhmError] | None = None
        try:
            await self._is_tidy.wait()
            await self._hold(talk, request, reader.look)
            if talk.is_over:
                result = Err(talk.refused) if talk.refused else finish_run(reader, _SETTLED, sink)
            else:
                ended = await self.child.ended()
                if talk.was_heard or not has_served:
                    result = finish_run(reader, ended, sink)
            return result
        finally:
            talk.close()
            if not isinstance(result, Ok) or not talk.is_over:
                self.child.stop()

    async def _hold(self, talk: _Talk, request: RunRequest, look: Callable[[bytes], Awaitable[None]]) -> None:
        """Until pi has settled, or is gone."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._write, talk.outgoing)
            with ExitStack() as steering:
                is_open = request.inbox is None
                async for line in self._lines:
                    await look(line)
                    if (asked := self._calls.asks(line)) is not None:
                        group.start_soon(talk.answer_call, asked)
                        continue
                    talk.hear(line)
                    if talk.is_over:
                        break
                    if talk.was_heard and self._family is None:
                        self._family = ()
                        group.start_soon(self._know_family)
                    # Not before: a steer that overtakes the prompt would become a prompt of its own.
                    if not is_open and request.inbox is not None and talk.is_running:
                        steering.enter_context(request.inbox.steered_by(talk.steer, talk.steer))
                        is_open = True
            group.cancel_scope.cancel()

    async def _know_family(self) -> None:
        """Note the processes of `pi` itself before a tool has run: it may have a wrapper and helpers."""
        self._family = await self.child.family()

    async def _write(self, outgoing: MemoryObjectReceiveStream[bytes]) -> None:
        async for command in outgoing:
            await self.child.write(command)


class _Talk:
    """The commands that one run sends to `pi`, and the replies that are still to come.

    Pi takes a prompt while it works, or begins with it. Asked twice at once when it has just settled, it would begin
    twice; so nothing is said before what was said last is answered, and has begun if it was to begin.
    """

    def __init__(
        self,
        request: RunRequest,
        reader: SessionReader,
        sink: Sink,
        numbers: count[int],
        *,
        secrets: Sequence[str],
        calls: CallGate,
    ) -> None:
        self._request = request
        self._secrets = secrets
        self._calls = calls
        self._is_unready = is_gated(request) and not calls.is_ready
        self._reader = reader
        self._sink = sink
        self._numbers = numbers
        self._to_say = deque([request.prompt])
        self._asked: tuple[str, str] | None = None
        self._unseen: list[str] = []
        self._again: set[str] = set()
        self._has_seen = False
        self._is_starting = False
        self.was_heard = False
        self.refused: OhmError | None = None
        self._send, self.outgoing = anyio.create_memory_object_stream[bytes](math.inf)
        if self._is_unready:  # an extension that was loaded has said so before this is answered
            self._send.send_nowait(json.dumps({"id": _READY, "type": "get_state"}).encode() + b"\n")
        self._say_next()

    def close(self) -> None:
        """Nothing more will be said."""
        self._send.close()
        self.outgoing.close()

    @property
    def is_running(self) -> bool:
        """Pi is at work: what is said to it now reaches this run."""
        return self._reader.is_streaming and not self._is_starting

    @property
    def is_over(self) -> bool:
        """Pi has settled, and nothing is left to be said or answered."""
        is_quiet = not (self._to_say or self._asked or self._is_starting)
        return self.refused is not None or (self._reader.is_over and is_quiet)

    def hear(self, line: bytes) -> None:
        """Take in a line, and say what can be said then."""
        head = line[:_HEAD]
        if b'"response"' in head and (record := records(line)) is not None and record.get("type") == "response":
            self._answer(record)
        else:
            for event in self._reader.read(line):
                self._sink.emit(event)
            if b'"message_start"' in head:
                self._see(records(line) or {})
            self._is_starting = self._is_starting and not self._reader.is_streaming
        if self._reader.is_over and not (self._to_say or self._asked or self._is_starting):
            self._say_again()
        self._say_next()

    async def answer_call(self, asked: AskedCall) -> None:
        """Let the gate decide about a call of a tool, and tell pi; other calls go on meanwhile.

        What somebody is asked about may be answered by another process, which goes on from the state that it waits in.
        """
        if self._request.gate is None:
            return
        self._send.send_nowait(await asked.answer(self._request.gate, self._tell_state))

    def _tell_state(self) -> None:
        for event in self._reader.state_now():
            self._sink.emit(event)

    def steer(self, text: str) -> bool:
        """Say something to the run that goes on; if pi has just settled, it takes it as its next prompt."""
        if self.is_over:
            return False
        self._to_say.append(text)
        self._say_next()
        return True

    def _say_next(self) -> None:
        if not self._to_say or self._asked is not None or self._is_starting or self._is_unready:
            return
        text = self._to_say.popleft()
        self._asked = (f"ohm-{next(self._numbers)}", text)
        how = {"streamingBehavior": "steer"} if self.was_heard else {}
        command = {"id": self._asked[0], "type": "prompt", "message": text, **how}
        self._send.send_nowait(json.dumps(command).encode() + b"\n")

    def _say_again(self) -> None:
        """Pi has taken it, and has settled without it: once more, as a prompt of its own."""
        while self._unseen and self._has_seen:
            text = self._unseen.pop(0)
            if text not in self._again:
                self._again.add(text)
                self._to_say.append(text)
                return

    def _see(self, record: JsonObject) -> None:
        """A user's message is in the conversation."""
        message = record.get("message")
        if isinstance(message, dict) and message.get("role") == "user" and self._unseen:
            self._has_seen = True
            text = text_of(message.get("content"))
            self._unseen.remove(text if text in self._unseen else self._unseen[0])

    def _answer(self, response: JsonObject) -> None:
        if response.get("id") == _READY:
            self._is_unready = False
            self.refused = None if self._calls.is_ready else unloaded(self._request)
            return
        if self._asked is None or response.get("id") != self._asked[0]:
            return
        (_, text), self._asked = self._asked, None
        is_first, self.was_heard = not self.was_heard, True
        if response.get("success") is True:
            self._unseen.append(text)
            self._is_starting = not self._reader.is_streaming
            return
        said = f"{response.get('error') or 'pi refused the prompt'}"
        if is_first:
            known = failures.refused(said, self._request)
            self.refused = known or failures.broken_off(self._request, code=0, stderr=said, secrets=self._secrets)
        elif self._reader.is_streaming:
            self._unseen.append(text)  # it shortens its context, say, and takes nothing meanwhile
        else:
            words = f"pi did not take a follow-up: {redacted_line(said, self._secrets)}."
            self._sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="follow-up", message=words)))
