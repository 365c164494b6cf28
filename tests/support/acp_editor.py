"""The client side of the ACP library as an editor, over pipes, and what it is told.

The library is imported when it is used: that takes half a second, and every worker imports every file of tests.
"""

import asyncio
import os
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

PATIENCE_S = 30


def refused(sentence):
    """Expect that a request is refused; `sentence` is a pattern."""
    from acp import RequestError

    return pytest.raises(RequestError, match=sentence)


class Editor:
    """Keeps the updates of all sessions; `connection` sends requests."""

    def __init__(self):
        self.updates = []
        self.connection = None
        self.asked = []
        self.choices = []
        """The options to choose, one for each request for permission; None dismisses it."""
        self._changed = asyncio.Event()

    async def session_update(self, session_id, update, **_more):
        self.updates.append((session_id, update))
        self._changed.set()

    async def request_permission(self, options, session_id, tool_call, **_more):
        from acp import RequestError
        from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionRequest, RequestPermissionResponse

        self.asked.append(RequestPermissionRequest(options=options, session_id=session_id, tool_call=tool_call))
        self._changed.set()
        if not self.choices:
            await asyncio.Event().wait()
        chosen = self.choices.pop(0)
        if chosen == "unknown":
            raise RequestError.method_not_found("session/request_permission")
        outcome = AllowedOutcome(outcome="selected", option_id=chosen) if chosen else DeniedOutcome(outcome="cancelled")
        return RequestPermissionResponse(outcome=outcome)

    async def was_asked(self):
        """Wait for the first request for permission."""
        with anyio.fail_after(PATIENCE_S):
            while not self.asked:
                self._changed.clear()
                await self._changed.wait()

    def on_connect(self, connection):
        self.connection = connection

    async def opened(self, cwd, **more):
        """Begin a session; return its id."""
        return (await self.connection.new_session(cwd=f"{cwd}", mcp_servers=[], **more)).session_id

    async def ask(self, session_id, *texts):
        from acp import text_block

        return await self.connection.prompt(session_id=session_id, prompt=[text_block(text) for text in texts])

    async def told(self, kind):
        """Wait for the first update of this kind, and return it."""
        with anyio.fail_after(PATIENCE_S):
            while not (found := self.of(kind)):
                self._changed.clear()
                await self._changed.wait()
        return found[0]

    def of(self, kind):
        return [update for _, update in self.updates if update.session_update == kind]

    def said(self, kind="agent_message_chunk"):
        return "".join(update.content.text for update in self.of(kind))

    def kinds(self):
        return [update.session_update for _, update in self.updates]


@asynccontextmanager
async def editor_of(agent):
    """An editor that is connected to an agent in this process."""
    from acp import connect_to_agent

    from ohm_subagents.acp.connection import serve
    from ohm_subagents.commands import Wire

    from_editor, to_agent = os.pipe()
    from_agent, to_editor = os.pipe()
    editor, loop = Editor(), asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**26)
    reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_agent, "rb"))
    protocol = asyncio.streams.FlowControlMixin
    writing, flow = await loop.connect_write_pipe(protocol, os.fdopen(to_agent, "wb"))
    writer = asyncio.StreamWriter(writing, flow, None, loop)
    wire = Wire(from_editor, to_editor)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(serve, agent, wire, wire.lines())
            connection = connect_to_agent(editor, writer, reader, use_unstable_protocol=True)
            try:
                yield editor
            finally:
                with suppress(Exception):
                    await connection.close()
                writing.close()
    finally:
        reading.close()
        os.close(from_editor)
        os.close(to_editor)
