"""A parent agent made with pydantic-ai that owns the todo tools, on a scripted model server."""

from contextlib import asynccontextmanager

import anyio
import pytest
from advancing_loop import advance
from model_server import Call, ModelServer, Say
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import Tool

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio
COUNTDOWN_S = 3


@pytest.fixture
def anyio_backend(moved_time):
    """pydantic-ai runs on asyncio only, whose clock is ours here: a countdown takes no time."""
    return moved_time


class Desk(MemoryHost):
    """A coding agent as far as the suite can tell: turns, a session with the results of tools, and messages."""

    def __init__(self, url):
        super().__init__()
        self._inbox, self._prompts = anyio.create_memory_object_stream(10)
        self._model = OpenAIChatModel("small", provider=OpenAIProvider(base_url=url, api_key="k"))
        self._history = []
        self.entries = []
        self.turns = 0

    def branch(self):
        return self.entries

    def send_user_message(self, text, *, follow_up=False):
        super().send_user_message(text, follow_up=follow_up)
        self._inbox.send_nowait(text)

    def _tool(self, ohm, name):
        async def execute(**arguments):
            result = await ohm.call(name, arguments)
            told = {"role": "toolResult", "toolName": name, "details": result.details}
            self.entries.append({"type": "message", "message": told})
            return result.text

        tool = ohm.tools[name]
        return Tool.from_schema(execute, name, tool.description, dict(tool.input_schema))

    async def work(self, ohm, prompt):
        """Turns until nobody says anything more."""
        tools = [self._tool(ohm, name) for name in ohm.tools]
        agent = Agent(self._model, tools=tools, instructions=ohm.tools["write_todos"].prompt_guidelines)
        while prompt is not None:
            self.turns += 1
            context = [answer["message"]["content"] for answer in await ohm.emit("before_agent_start")]
            said = [*context, prompt]
            done = await agent.run(said, message_history=self._history, event_stream_handler=_unwatched)
            self._history = done.all_messages()
            await ohm.emit("agent_end", {"messages": [{"role": "assistant", "stopReason": "stop"}]})
            prompt = await self._next()

    async def _next(self):
        """Return what is said when the countdown is over, if there is one."""
        if "til-done-countdown" in self.widgets:
            advance(COUNTDOWN_S)
            return await self._prompts.receive()
        return None

    async def aclose(self):
        await self._model.client.close()
        self._inbox.close()
        self._prompts.close()


async def _unwatched(_context, events):
    """The model server streams, and so the agent must."""
    async for _ in events:
        pass


@asynccontextmanager
async def desk(*script):
    async with ModelServer(*script) as server:
        host = Desk(server.url)
        async with Ohm.open(config={}, env=HERMETIC, suites=["todos"], host=host) as ohm:
            try:
                yield server, host, ohm
            finally:
                await host.aclose()


def write(*texts):
    return Say(Call("write_todos", {"mode": "replace", "todos": [{"text": text} for text in texts]}))


def edit(action, *indices):
    return Say(Call("edit_todos", {"action": action, "indices": [*indices]}))


async def test_it_works_a_list_to_its_end_through_auto_continue():
    script = [
        *(write("schema", "migration", "endpoints"), Say("There is a plan.")),
        *(edit("start", 0), edit("complete", 0), Say("The schema is there.")),
        *(edit("start", 1), Say("The migration is begun.")),
        *(edit("complete", 1), edit("abandon", 2), Say("All done.")),
    ]
    async with desk(*script) as (server, host, ohm):
        await host.work(ohm, "Build it.")
        listed = (await ohm.call("list_todos", {})).text

    assert (server.left, server.surplus, host.turns) == (0, 0, 4)
    assert listed == "✓ [0] schema\n✓ [1] migration\n✗ [2] endpoints"
    said = [text.rpartition("\n")[2] for _, text, _ in _calls(host, "send_user_message")]
    assert said == [
        "Next action: edit_todos with action 'start' and indices [0]",
        "Next action: edit_todos with action 'start' and indices [1]",
        "Next action: edit_todos with action 'complete' and indices [1]",
    ]
    assert [text for _, key, text in _calls(host, "set_status") if key == "til-done"] == [
        "📋 0/3",
        *("📋 0/3", "📋 1/3"),
        "📋 1/3",
        *("📋 2/3", "✓ Done (3 items)"),
        None,
    ]
    assert _calls(host, "send_message") == []
    told = [one["content"] for one in server.requests[-1].messages if one["role"] == "user"]
    reminders = [text for text in map(str, told) if "[TILL-DONE ACTIVE]" in text]
    assert len(reminders) == 3
    assert "1 item(s) remaining" not in reminders[0]
    assert "2 item(s) remaining" in reminders[2]


async def test_its_session_tells_another_process_how_far_the_list_is():
    script = [write("a", "b"), edit("complete", 0), Say(Call("list_todos")), edit("start", 7), edit("abandon", 1)]
    async with desk(*script, Say("Done.")) as (_, host, ohm):
        await host.work(ohm, "Do it.")
        entries = host.entries

    assert len(entries) == 5
    async with Ohm.open(config={}, env=HERMETIC, suites=["todos"], host=MemoryHost(branch=entries[:-1])) as ohm:
        await ohm.emit("session_start", {"reason": "resume"})
        assert (await ohm.call("list_todos", {})).text == "✓ [0] a\n\N{EN DASH} [1] b"


@pytest.mark.slow
async def test_one_that_never_touches_its_list_is_told_twenty_times_and_then_left_to_its_user():
    def script(request):
        return Say("I am thinking.") if request.tool_results else write("a")

    async with desk(script) as (server, host, ohm):
        await host.work(ohm, "Do it.")

    assert host.turns == 21
    assert len(_calls(host, "send_user_message")) == 20
    [(_, kind, text, display)] = _calls(host, "send_message")
    assert (kind, display) == ("til-done-complete", True)
    assert text.startswith("Auto-continue limit reached (20 iterations).")
    assert host.widgets == {}
    assert len(server.requests) == 22


def _calls(host, method):
    return [call for call in host.calls if call[0] == method]
