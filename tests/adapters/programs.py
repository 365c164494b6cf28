"""Several programs of one framework without the time that its import takes each of them.

`python programs.py DOOR` reads a list of `{"words": […], "env": {…}}` from its input and runs each as `python words…`
would run it, forked from this process, which has imported the door. It prints what each printed and its exit code.
"""

import json
import os
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryFile

from door_contract import loaded


def run(words, env):
    """Return what a program prints, and its exit code."""
    with TemporaryFile() as printed:
        pid = os.fork()
        if not pid:
            os.dup2(printed.fileno(), 1)
            become(words, env)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        printed.seek(0)
        return {"printed": printed.read().decode(), "code": code}


def become(words, env):
    """Be what Python would have made of the words."""
    sys.argv = words
    os.environ.clear()
    os.environ.update(env)
    code = 1
    try:
        runpy.run_path(words[0], run_name="__main__")
        code = 0
    finally:
        if code:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    loaded(sys.argv[1])
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a thread would be missing in what is forked"
    json.dump([run(**each) for each in asked], sys.stdout)
