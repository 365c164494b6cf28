"""Begin the call of a tool, a batch here, follow its events, and find it again by its id."""

import anyio

from ohm_subagents import Ohm

QUESTIONS = {"Login": "Where is login?", "Logout": "Where is logout?"}
TASKS = [{"subagent_type": "finder", "description": name, "prompt": text} for name, text in QUESTIONS.items()]


async def main() -> None:
    async with Ohm.open(config={"subagentBackend": "none"}) as ohm:
        call = await ohm.begin("task", {"op": "start", "tasks": TASKS}, call_id="request-7")
        async for each in call.events():
            if each.event.kind == "task_settled":
                print(call.task_ids.index(each.task_id), "is over")
        again = ohm.handle("request-7")  # in this process or the next one
        print(again is not None and again.task_ids == call.task_ids)
        print((await call.wait()).details["batch_status"])


anyio.run(main)

# Prints:
# 0 is over
# 1 is over
# True
# completed
