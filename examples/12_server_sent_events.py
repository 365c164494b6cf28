"""Stream what a subagent does to a browser, as server-sent events, and stop it when the browser goes away.

Needs the extra `ui`, and httpx.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from ohm_subagents import Ohm, event_to_json
from ohm_subagents.contract import TextDelta
from ohm_subagents.testing import ScriptedBackend, Step


async def answer(ohm: Ohm, question: str) -> AsyncGenerator[str]:
    handle = await ohm.start("finder", question)
    try:
        async for event in handle.events():
            yield f"data: {json.dumps(event_to_json(event))}\n\n"
    finally:
        await handle.cancel()  # the browser may have gone away; a task that is over stays as it is


async def ask(request: Request) -> StreamingResponse:
    """In FastAPI, whose requests and responses these are, below `@app.get("/ask")`."""
    return StreamingResponse(answer(request.app.state.ohm, request.query_params["q"]), media_type="text/event-stream")


async def main() -> None:
    words = TextDelta(text="It is in "), TextDelta(text="auth.py.")
    backend = ScriptedBackend(Step(events=words, text="It is in auth.py."), Step(events=words, gate=anyio.Event()))
    config = {"subagentBackend": "scripted"}
    async with Ohm.open(config=config, plugins=[backend], new_task_id=iter(["one", "two"]).__next__) as ohm:
        app = Starlette(routes=[Route("/ask", ask)])
        app.state.ohm = ohm
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as browser:
            response = await browser.get("/ask", params={"q": "Where is login?"})
            print(response.text.replace("\n\n", "\n"), end="")
        async with aclosing(answer(ohm, "And logout?")) as body:
            async for message in body:
                if "auth.py" in message:
                    break
        task = ohm.task("two")
        print(task and task.status)


anyio.run(main)

# Prints:
# data: {"version": 1, "prompt": "Where is login?", "is_follow_up": false, "kind": "run_started"}
# data: {"version": 1, "text": "It is in ", "kind": "text_delta"}
# data: {"version": 1, "text": "auth.py.", "kind": "text_delta"}
# data: {"version": 1, "outcome": {"kind": "succeeded"}, "output": "It is in auth.py.", "summary": "Finder: Where is login?", "exit_code": null, "kind": "run_ended"}
# data: {"version": 1, "outcome": {"kind": "succeeded"}, "kind": "task_settled"}
# cancelled
