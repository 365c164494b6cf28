"""The cost of a command of `ohm`, whole: the processor time of its process, from its start to its end."""

import os
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

RUNS = 3
OHM = Path(sys.executable).with_name("ohm")


@asynccontextmanager
async def cpu(command):
    """User and system seconds of a process that runs `command`, in an empty home."""
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"}

        async def repeat():
            return median(_cpu_s([str(OHM), *command], home, env) for _ in range(RUNS))

        yield repeat


def _cpu_s(command, cwd, env):
    with subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime
