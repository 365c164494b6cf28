"""A server in a process of its own, whose runs count in another process or ask before they edit; it may be killed."""

import os
import sys
from functools import partial
from pathlib import Path

import anyio

SERVING = Path(__file__).parents[1] / "serve" / "waiting"


async def editing(request, sink):
    """A run that edits a file, and answers what became of it."""
    return await request.gate.tool("edit", {"path": "a.py"}, call_id="1") or "edited"


async def main(directory, socket):
    sys.path.insert(0, f"{SERVING}")
    import waiting_backend
    from acting import ActingBackend
    from counting_runner import CountingBackend

    from ohm_subagents.serve import serve

    waiting_backend.offered += [CountingBackend(Path(directory)), ActingBackend(editing)]
    told = partial(os.write, sys.stdout.fileno(), b"ready\n")
    wrong = await serve(Path(socket), idle_s=60, listening=told, stop=anyio.Event())
    assert wrong is None, wrong


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
