"""A Ray cluster of this machine for the tests: on loopback, with a token, ended by the ids of its processes."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp, mkstemp

import psutil
import pytest

HERE = Path(__file__).parent
CANARY = "OHM_RAY_CANARY"
REQUESTS = "OHM_RAY_REQUESTS"
TOKEN = secrets.token_hex(32)
"""The token of all clusters here: Ray reads it once in a process."""
INSTALL = "Ray is not installed: run `.venv/bin/uv sync --all-packages --extra ray`."


class Node:
    """A node of a cluster: the process that was started, and all below it."""

    def __init__(self, process, place, log):
        self.process, self.place, self.log = process, place, log
        self.root = psutil.Process(process.pid)

    def has_joined(self):
        """Wait until it runs; False if it never will."""
        while "Ray runtime started" not in self.log.read_text():
            if self.process.poll() is not None:
                return False
            time.sleep(0.1)
        return True

    def processes(self):
        """All processes of it."""
        return [self.root, *(with_nobody(lambda: self.root.children(recursive=True)) or ())]

    def runners(self):
        """The processes of the actors on it, oldest first."""
        found = [one for one in self.processes() if "Runner" in "".join(with_nobody(one.cmdline) or ())]
        return sorted(found, key=lambda one: one.create_time())

    def ledgers(self):
        """The processes of the ledgers on it."""
        return [one for one in self.processes() if "Ledger" in "".join(with_nobody(one.cmdline) or ())]

    def kill(self):
        """`kill -9` of all of it."""
        processes = self.processes()
        for process in processes:
            with_nobody(process.kill)
        psutil.wait_procs(processes, 30)
        self.process.wait()


class Cluster:
    """Its address, and the environment of a program that may join it. `nodes` are those beside its head."""

    def __init__(self, directory):
        self.directory = directory
        self.key = f"canary-{secrets.token_hex(16)}"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": f"{directory / 'home'}",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": TOKEN,
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
        }

    @contextmanager
    def running(self):
        (self.directory / "home").mkdir()
        (self.directory / "requests").mkdir()
        site = self.directory / "site"
        info = site / "told-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: told\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[ohm_subagents]\ntold = told_backend\nrelayed = relay\n")
        for module in ("told_backend.py", "relay.py", "ray_old_release.py", "ray_submitter.py"):
            shutil.copy(HERE / module, site)
        port = self.address.split(":")[1]
        own = [f"--port={port}", "--num-cpus=2", "--include-dashboard=false", f"--temp-dir={self.directory / 'ray'}"]
        own += ["--no-monitor", "--include-log-monitor=false"]  # nobody asks for more nodes, or reads their logs here
        self.nodes = []
        self.head = self._started("here", "--head", *own)
        try:
            self._wait(self.head.process)
            yield self
        finally:
            self.end()

    def add_node(self, *, place, slots=0):
        """Start a node with this label, so many of the resource `slot` and one `place`; return it once it has joined.

        Ray gives up where that takes a node longer than 30 s.
        """
        resources = json.dumps({"slot": slots, "place": 1})
        own = [f"--address={self.address}", "--num-cpus=1", f"--resources={resources}"]
        own += ["--include-log-monitor=false"]
        for _ in range(3):
            node = self._started(place, *own)
            if node.has_joined():
                self.nodes.append(node)
                return node
            node.kill()
        pytest.fail(node.log.read_text())

    def kill_node(self, node):
        """`kill -9` of a node beside the head."""
        self.nodes.remove(node)
        node.kill()

    def _started(self, place, *command):
        command += ("--block", "--node-ip-address=127.0.0.1", "--object-store-memory=100000000")
        command += ("--disable-usage-stats", f"--labels=place={place}")
        of_runners = {"PYTHONPATH": f"{self.directory / 'site'}", REQUESTS: f"{self.directory / 'requests'}"}
        path = Path(mkstemp(prefix="log", dir=self.directory)[1])
        with path.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", HERE / "ray_node.py", "start", *command],
                env={**self.env, **of_runners, CANARY: self.key},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return Node(process, place, path)

    def _wait(self, head):
        """Wait until it takes connections."""
        host, port = self.address.split(":")
        while True:
            try:
                socket.create_connection((host, int(port))).close()
            except OSError:
                with pytest.raises(subprocess.TimeoutExpired):
                    head.wait(0.1)
            else:
                return

    def have_nodes(self, *places, slots=0):
        """Have a node of each label: those that are missing are started."""
        for place in places:
            if place not in {node.place for node in self.nodes}:
                self.add_node(place=place, slots=slots)

    def processes(self):
        """All processes of it."""
        return [process for node in (self.head, *self.nodes) for process in node.processes()]

    def end(self):
        """End it, its head last: the others would wait for it."""
        for node in (*self.nodes, self.head):
            node.kill()

    def runners(self):
        """The processes of the actors, oldest first."""
        return sorted(
            (one for node in (self.head, *self.nodes) for one in node.runners()), key=psutil.Process.create_time
        )

    def ledgers(self):
        """The processes of the ledgers."""
        return [one for node in (self.head, *self.nodes) for one in node.ledgers()]

    def requests(self, task_id):
        """The model requests that a task has made, as the runners have counted them."""
        counted = self.directory / "requests" / task_id
        return counted.stat().st_size if counted.exists() else 0

    def listeners(self):
        """The addresses at which its processes and this one listen."""
        return {
            one.laddr.ip.removeprefix("::ffff:")
            for process in [*self.processes(), psutil.Process()]
            for one in with_nobody(lambda process=process: process.net_connections("tcp")) or ()
            if one.status == psutil.CONN_LISTEN
        }

    def holds(self, text):
        """The places that hold a text: files of it, logs among them, and its object store."""
        needle = text.encode()
        files = [one for one in (self.directory / "ray").rglob("*") if one.is_file()]
        stores = [one for one in self.processes() if with_nobody(one.name) == "raylet"]
        assert files
        assert stores
        found = [one for one in files if needle in one.read_bytes()]
        return found + [one for one in stores if any(needle in part for part in shared_memory(one.pid))]


def shared_memory(pid):
    """The parts of the memory of a process in which it keeps the objects of its node."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    mapped = [line.split()[0].split("-") for line in lines if "plasma" in line]
    assert mapped
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for begin, end in mapped:
            memory.seek(int(begin, 16))
            yield memory.read(int(end, 16) - int(begin, 16))


def with_nobody(act):
    """Return the result of `act`; None if its process is gone."""
    try:
        return act()
    except psutil.Error:
        return None


@contextmanager
def cluster_of_tests():
    if find_spec("ray") is None:
        if os.environ.get("CI"):
            pytest.fail(INSTALL)
        pytest.skip(INSTALL)
    directory = Path(mkdtemp(prefix="ohm-ray-", dir="/tmp"))  # short: the path of a socket has 107 characters
    try:
        with Cluster(directory).running() as cluster:
            yield cluster
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def ray_cluster():
    """A cluster of one node for all tests of a file; each pool of them has a name of its own.

    It ends with them: its actors take time of the processors also while nobody asks them anything.
    """
    with cluster_of_tests() as running:
        running.env["OHM_RAY_ADDRESS"] = running.address
        yield running
