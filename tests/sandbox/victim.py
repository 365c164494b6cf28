"""A process outside of a sandbox, with a secret wherever a process may have one; it tells where, and waits.

`SECRET=… python victim.py <outer> <token>`; ends with its standard input.
"""

import ctypes
import json
import os
import socket
import sys
import threading

LIBC = ctypes.CDLL(None, use_errno=True)
PRIVATE, REMOVE = 0x200 | 0o600, 0


def serve(listener, token):
    while True:
        connection, _ = listener.accept()
        connection.send(token)
        connection.close()


def answer(listener, token):
    while True:
        _, sender = listener.recvfrom(1000)
        listener.sendto(token, sender)


def listening(family, address):
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen()
    return listener


def main(outer, token):
    os.chdir(outer)
    said = token.encode()
    tcp, datagrams = listening(socket.AF_INET, ("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 0))
    streams = [tcp, listening(socket.AF_UNIX, f"{outer}/socket"), listening(socket.AF_UNIX, f"\0{token}")]
    threads = [threading.Thread(target=serve, args=(one, said), daemon=True) for one in streams]
    threads.append(threading.Thread(target=answer, args=(datagrams, said), daemon=True))
    for thread in threads:
        thread.start()
    key = int.from_bytes(os.urandom(3), "big") + 1
    shared = LIBC.shmget(key, 4096, PRIVATE)
    memory = f"{token}.memory"
    with open(f"/dev/shm/{memory}", "w") as file:
        file.write(token)
    held = os.open(f"{outer}/secret", os.O_RDONLY)
    facts = {"victim": os.getpid(), "port": tcp.getsockname()[1], "datagrams": datagrams.getsockname()[1]}
    print(json.dumps({**facts, "abstract": token, "shared": key, "in_memory": memory, "held": held}), flush=True)
    try:
        sys.stdin.read()
    finally:
        os.unlink(f"/dev/shm/{memory}")
        LIBC.shmctl(shared, REMOVE, None)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
