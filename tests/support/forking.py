"""Real processes without the time that Python takes to start: forked from one that has imported the package.

with forked(script, "a word", …) as process:
    process.stdin.write("a line\\n")
    process.stdout.readline()

The script runs as `python script 'a word' …` would, with the directory, the environment and the standard error of now,
and with pipes of its own for the rest; `kill` is a real `kill -9`. The server that all are forked from begins with the
first of them and ends with the tests: it has imported what a run on a stored registry needs, its event loop has ended,
and it has one thread.
"""

import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory

from deafness import hearing

SIZE = 2**20
PATIENCE_S = 60
STREAMS = {"stdin": "w", "stdout": "r", "stderr": "r"}
"""Of a process, and what is done here with the other end of a pipe."""


class Process:
    """One that was forked: what `subprocess.Popen` has."""

    stdin = stdout = stderr = returncode = None

    def __init__(self, pid):
        self.pid = pid
        self._ended = os.pidfd_open(pid)

    def send_signal(self, number):
        if self.returncode is None:
            os.kill(self.pid, number)  # nobody else has its number before the server has waited for it

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        """End it as `kill -9` does, and wait until it is gone."""
        self.send_signal(signal.SIGKILL)
        self.wait()

    def wait(self, timeout=PATIENCE_S):
        """Wait until it is gone; return its exit code, which is negative for a signal."""
        if self.returncode is None:
            if not select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            self.returncode = _server().told(self.pid)
            os.close(self._ended)
        return self.returncode

    def communicate(self, timeout=PATIENCE_S):
        """Read the output, which ends with the process, and then the errors, which have to be few."""
        read = [stream and stream.read() for stream in (self.stdout, self.stderr)]
        self.wait(timeout)
        return read


@contextmanager
def forked(script, *words):
    """Run a script; its input and output are lines of text."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": None}
    with started([script, *words], cwd=Path.cwd(), env=os.environ, text=True, **pipes) as process:
        yield process


@contextmanager
def started(words, *, cwd, env, text=False, **streams):
    """Run a script; each stream is that of this process, a descriptor, or what `subprocess` has instead of one."""
    asked = {"words": [*map(str, words)], "cwd": str(cwd), "env": {**env}}
    with ExitStack() as stack:
        ours, theirs = {}, []
        for number, (name, mode) in enumerate(STREAMS.items()):
            match streams.get(name):
                case subprocess.PIPE:
                    ends = os.pipe()
                    end, other = ends if mode == "r" else ends[::-1]
                    theirs.append(other)
                    stack.callback(os.close, other)
                    ours[name] = os.fdopen(end, mode, 1) if text else os.fdopen(end, f"{mode}b", 0)
                case subprocess.DEVNULL:
                    theirs.append(os.open(os.devnull, os.O_RDWR))
                    stack.callback(os.close, theirs[-1])
                case other:
                    theirs.append(number if other is None else other)
        process = Process(_server().told(asked, *theirs))
    with ExitStack() as stack:
        for name, stream in ours.items():
            setattr(process, name, stack.enter_context(stream))
        try:
            yield process
        finally:
            process.kill()


class Server:
    """This side of the process that forks all others."""

    def __init__(self):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, hearing():
            number = theirs.fileno()
            self._process = subprocess.Popen([sys.executable, __file__, f"{number}"], pass_fds=[number])

    def told(self, asked, *files):
        socket.send_fds(self._socket, [json.dumps(asked).encode()], files)
        return json.loads(self._socket.recv(SIZE))

    def end(self):
        self._socket.close()
        self._process.wait()


@cache
def _server():
    return Server()


def pytest_sessionfinish():
    if _server.cache_info().currsize:
        _server().end()


async def warm(place):
    """Do what imports all that is imported late."""
    from ohm_subagents import Ohm
    from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

    env = HERMETIC | {"PI_CONFIG_DIR": place, "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "scripted"}
    async with Ohm.open(env=env, config=config, plugins=[ScriptedBackend(default=Step(text="done"))]) as ohm:
        await ohm.run("finder", "p")


def serve(server):
    """Return what is to be run in a process that was forked; None in the server, once nobody can ask any more."""
    while True:
        message, files, _, _ = socket.recv_fds(server, SIZE, 3)
        if not message:
            return None
        match json.loads(message):
            case int(pid):
                server.send(json.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
            case started:
                pid = os.fork()
                for number, file in enumerate(files):
                    if not pid:
                        os.dup2(file, number)
                    os.close(file)
                if not pid:
                    return started
                server.send(json.dumps(pid).encode())


def main(number):
    import anyio

    with TemporaryDirectory() as place:
        anyio.run(warm, place)
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a thread would be missing in what is forked"
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=number) as server:
        started = serve(server)
    if started:
        become(**started)


def become(words, cwd, env):
    """Be what Python would have made of the words."""
    sys.argv = words
    sys.path[0] = f"{Path(words[0]).parent}"
    sys.path[1:1] = [place for place in env.get("PYTHONPATH", "").split(os.pathsep) if place and place not in sys.path]
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, name in enumerate(STREAMS):
        setattr(sys, name, open(number, "rww"[number], encoding="utf-8", closefd=False))  # noqa: SIM115  as long as the process
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(int(sys.argv[1]))
