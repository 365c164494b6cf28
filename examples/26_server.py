"""A server of your user owns the tasks: they outlive the program, which it calls back while the program is there.

Needs no key and no network: the backend `none` echoes what it is asked. The server is one of this example alone.
"""

import tempfile

import anyio

from ohm_subagents import Handle, Ohm
from ohm_subagents.serve import ask_server, socket_of

CONFIG = {"subagentBackend": "none"}


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        env = {"PI_CONFIG_DIR": directory, "XDG_RUNTIME_DIR": directory}
        async with Ohm.open(server="auto", config=CONFIG, env=env) as ohm:  # starts the server, if there is none
            handle = await ohm.start("finder", "Where is output cut?")
        print("This program may end here: the task goes on.")

        async with Ohm.open(server="auto", config=CONFIG, env=env) as later:
            found = later.handle(handle.id or "")
            if isinstance(found, Handle):
                envelope = (await found.wait()).unwrap()
                print(f"{envelope.status}: {envelope.description}")

        if (await ask_server(socket_of(env), stops=True)).unwrap():  # as `ohm serve --stop`
            print("the server has ended")


anyio.run(main)

# Prints:
# This program may end here: the task goes on.
# succeeded: Where is output cut?
# the server has ended
