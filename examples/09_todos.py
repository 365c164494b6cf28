"""Keep a todo list for a parent agent: status line, context for the model, and the next action after each turn."""

import anyio

from ohm_subagents import Ohm
from ohm_subagents.testing import MemoryHost


class Desk(MemoryHost):
    """A host whose agent begins a turn for each message of the user; here the suite sends it."""

    def __init__(self) -> None:
        super().__init__()
        self.messaged = anyio.Event()

    def send_user_message(self, text: str, *, follow_up: bool = False) -> None:
        print(text.rpartition("\n")[2])
        self.messaged.set()


async def main() -> None:
    desk = Desk()
    async with Ohm.open(config={"subagentBackend": "none"}, suites=["todos"], host=desk) as ohm:
        todos = [{"text": "Write the schema"}, {"text": "Write the migration"}]
        await ohm.call("write_todos", {"mode": "replace", "todos": todos})
        done = await ohm.call("edit_todos", {"action": "complete", "indices": [0]})
        print(done.text.partition("\n")[0])
        print(desk.statuses["til-done"])

        for answer in await ohm.emit("before_agent_start"):
            print(*answer, "for the model alone")
        await ohm.emit("agent_end", {"messages": [{"role": "assistant", "stopReason": "stop"}]})
        print(*desk.widgets["til-done-countdown"])
        await desk.messaged.wait()


anyio.run(main)

# Prints:
# Completed [0]
# 📋 1/2
# message for the model alone
# ⏳ Auto-continuing in 3s... (type anything to interrupt)
# Next action: edit_todos with action 'start' and indices [1]
