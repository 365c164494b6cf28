"""A script: open a port in the network of a sandbox, hand it to the proxy outside, and become the command.

`python -I -S listening.py <socket of the proxy> <port> <program> <arguments…>`, standard library only, since it runs
before each command. No process of ours stays in the sandbox: the proxy takes what connects to the port.
"""

import os
import socket
import sys
from typing import Final, NoReturn

_NOT_RUN: Final = 126


def main(arguments: list[str]) -> NoReturn:
    """Open the port, and become the command. Our end of the socket stays open as long as the command runs."""
    proxy, port, command = arguments[0], int(arguments[1]), arguments[2:]
    try:
        with socket.create_server(("127.0.0.1", port)) as listener:
            door = socket.socket(socket.AF_UNIX)
            door.connect(proxy)
            socket.send_fds(door, [b"+"], [listener.fileno()])
        os.set_inheritable(door.detach(), True)  # noqa: FBT003  its only argument
        os.execvpe(command[0], command, _environment())  # noqa: S606  no shell is what we want
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(_NOT_RUN)


def _environment() -> dict[bytes, bytes]:
    """As it was given to us: without a locale, Python adds one to `os.environ`."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  pathlib takes longer to import than all of the rest
        entries = file.read().split(b"\0")
    return {name: value for name, _, value in (entry.partition(b"=") for entry in entries) if name}


if __name__ == "__main__":
    main(sys.argv[1:])
