"""One case in a process of its own. Standard library only: it also runs where nothing of ours is installed.

`python worker.py <subject file> <function> <arguments as JSON> [--profile]`. The function gives an async
context manager: it sets up what it needs and gives `repeat`; each `await repeat()` is one value. A line on stdin asks
for the next. With `--profile` one repeat is profiled instead, or `explain_<function>` of the file is run.
"""

import argparse
import asyncio
import cProfile
import gc
import importlib.util
import json
import os
import pstats
import sys
from pathlib import Path

PROFILED_LINES = 30


def loaded(file):
    spec = importlib.util.spec_from_file_location("subject", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def answer(case, say):
    """Say each value; what is raised is said by the caller."""
    async with case() as repeat:
        for _ in sys.stdin:
            gc.collect()
            say(value=await repeat())


async def profile(case):
    """Print where one warm repeat spends its time."""
    profiler = cProfile.Profile()
    async with case() as repeat:
        await repeat()
        profiler.enable()
        await repeat()
        profiler.disable()
    stats = pstats.Stats(profiler).strip_dirs()
    for order in ("tottime", "cumulative"):
        stats.sort_stats(order).print_stats(PROFILED_LINES)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("function")
    parser.add_argument("arguments", type=json.loads)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()

    def case():
        return getattr(loaded(asked.file), asked.function)(**asked.arguments)

    if asked.profile:
        explain = getattr(loaded(asked.file), f"explain_{asked.function}", None)
        asyncio.run(explain(**asked.arguments) if explain else profile(case))
        return
    # What a library prints may not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        asyncio.run(answer(case, say))
    except Exception as exc:  # noqa: BLE001  it is a line of the table
        say(error=f"{type(exc).__name__}: {exc}")


if __name__ == "__main__":
    main()
