"""Be an agent for an editor, here in the same process; `ohm acp` is one for editors that start it themselves.

Needs the extra `acp`.
"""

import asyncio  # noqa: TID251  the streams of the ACP library are its own
import socket
from typing import cast

import acp
from acp.schema import AgentMessageChunk, SessionInfoUpdate

from ohm_subagents import Ohm
from ohm_subagents.acp import acp_agent
from ohm_subagents.testing import ScriptedBackend


class Editor:
    """Prints what it is told."""

    async def session_update(self, session_id: str, update: AgentMessageChunk | SessionInfoUpdate) -> None:
        said = update.model_dump(include={"title", "content"}, exclude_none=True)
        if said:  # each prompt also has an update that tells the id of its task
            print(said)


async def main() -> None:
    ours, theirs = socket.socketpair()
    backend = ScriptedBackend("In routes.py.", "In auth.py.")
    async with Ohm.open(config={"subagentBackend": "scripted"}, plugins=[backend]) as ohm:
        output, given = await asyncio.open_connection(sock=ours)
        agent = asyncio.create_task(acp.run_agent(acp_agent(ohm), given, output, use_unstable_protocol=True))
        answers, asked = await asyncio.open_connection(sock=theirs)
        async with acp.connect_to_agent(cast("acp.Client", Editor()), asked, answers) as connection:
            session = await connection.new_session(cwd="/", mcp_servers=[])
            for question in ("Where are the routes?", "And login?"):
                text = acp.text_block(question)
                answer = await connection.prompt(session_id=session.session_id, prompt=[text])
                print(answer.stop_reason)
        asked.close()
        await agent
        given.close()


asyncio.run(main())

# Prints:
# {'title': 'Where are the routes?'}
# {'content': {'text': 'In routes.py.', 'type': 'text'}}
# end_turn
# {'content': {'text': 'In auth.py.', 'type': 'text'}}
# end_turn
