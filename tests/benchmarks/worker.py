"""Cases in a process of their own. Standard library only: it also runs where nothing of ours is installed.

`python worker.py (<subject file> <function> <arguments as JSON>)... [--profile]`. A function gives an async context
manager: it sets up what it needs and gives `repeat`; each `await repeat()` is one value. A line on stdin is the place
of the case whose next value is wanted. With `--profile` some repeats of the first are profiled instead, or
`explain_<function>` of its file is run; with `--purposes` their processor time is split by what it is for.
"""

import argparse
import asyncio
import cProfile
import importlib.util
import json
import os
import pstats
import sys
from functools import cache
from pathlib import Path
from time import process_time

from purposes import Purposes

PROFILED_LINES = 40
PROFILED_REPEATS = 10
SAMPLES = 2_000


@cache
def loaded(file):
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Subject:
    """A case, in an asyncio task of its own: what one of them opens encloses nothing of the others."""

    def __init__(self, file, function, arguments):
        self._case = file, function, json.loads(arguments)
        self._asked, self._answers = asyncio.Queue(), asyncio.Queue()
        self._error = None
        self._task = None

    async def repeat(self):
        """The next value; a case that has raised says so whenever it is asked again."""
        if self._task is None:
            self._task = asyncio.create_task(self._served())
        if self._error is not None:
            return {"error": self._error}
        self._asked.put_nowait(True)
        return await self._answers.get()

    async def close(self):
        if self._task is not None:
            self._asked.put_nowait(False)
            await self._task

    async def _served(self):
        file, function, arguments = self._case
        try:
            async with getattr(loaded(file), function)(**arguments) as repeat:
                while await self._asked.get():  # no collection of garbage between: whoever makes it, pays
                    self._answers.put_nowait({"value": await repeat()})
        except (Exception, asyncio.CancelledError) as exc:  # noqa: BLE001  it is a line of the table
            self._error = f"{type(exc).__name__}: {exc}"
            self._answers.put_nowait({"error": self._error})


async def answer(cases, say):
    """Say the values that are asked for."""
    subjects = [Subject(*case) for case in cases]
    for line in sys.stdin:
        say(await subjects[int(line)].repeat())
    for subject in subjects:
        await subject.close()


async def profile(case):
    """Print which functions take the processor time of some warm repeats."""
    profiler = cProfile.Profile(process_time)
    async with case as repeat:
        await repeat()
        for _ in range(PROFILED_REPEATS):
            with profiler:
                await repeat()
    stats = pstats.Stats(profiler).strip_dirs()
    for order in ("tottime", "cumulative"):
        stats.sort_stats(order).print_stats(PROFILED_LINES)


async def split(case):
    """Print the parts of the processor time by purpose, as JSON."""
    purposes = Purposes()
    async with case as repeat:
        await repeat()
        with purposes:
            while purposes.samples.total() < SAMPLES:
                await repeat()
    parts = ((purpose, count / purposes.samples.total()) for purpose, count in purposes.samples.most_common())
    sys.stdout.write(json.dumps(dict(parts)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--purposes", action="store_true")
    asked = parser.parse_args()
    words = iter(asked.cases)
    cases = list(zip(words, words, words, strict=True))
    file, function, arguments = cases[0][0], cases[0][1], json.loads(cases[0][2])
    explain = getattr(loaded(file), f"explain_{function}", None) if asked.profile else None
    if explain is not None:
        asyncio.run(explain(**arguments))
        return
    if asked.profile or asked.purposes:
        case = getattr(loaded(file), function)(**arguments)
        asyncio.run(profile(case) if asked.profile else split(case))
        return
    # What a library prints may not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    asyncio.run(answer(cases, say))


if __name__ == "__main__":
    main()
