"""Goes beyond each limit of a sandbox, and says what stopped it; what begins too many processes ends by itself."""

import json
import os
import signal
import subprocess
import sys

MANY = 300


def too_large_a_file():
    try:
        with open("large", "wb") as file:
            file.write(bytes(2 * 2**20))
    except OSError as error:
        return os.strerror(error.errno)
    return "nothing"


def too_much_memory():
    try:
        return f"nothing: {len(bytearray(2**30))}"
    except MemoryError:
        return "MemoryError"


def too_long():
    ended = subprocess.run((sys.executable, "-I", "-S", "-c", "while True: pass"), check=False, timeout=60).returncode
    return signal.Signals(-ended).name


def too_many_processes():
    """Do what a fork bomb does, for a while."""
    begun, why = [], "nothing"
    try:
        while len(begun) < MANY:
            pid = os.fork()
            if pid == 0:
                signal.pause()
            begun.append(pid)
    except OSError as error:
        why = os.strerror(error.errno)
    finally:
        for pid in begun:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return why


if __name__ == "__main__":
    print(json.dumps([too_large_a_file(), too_much_memory(), too_long(), too_many_processes()]))
