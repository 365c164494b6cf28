"""The cost of an import to a program that has just begun."""

import subprocess
import sys
from contextlib import asynccontextmanager

from stopwatch import repeating


@asynccontextmanager
async def importing(statement):
    """Seconds from the start of a fresh Python until it has executed `statement` and ended."""

    async def work():
        subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: ASYNC221  nothing else runs here

    yield repeating(work, 3)


async def explain_importing(statement):
    """Print the modules that cost most: alone, and with all that they import."""
    command = [sys.executable, "-X", "importtime", "-c", statement]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr  # noqa: ASYNC221  as above
    lines = [line.removeprefix("import time:").split("|") for line in told.splitlines()[1:]]
    costs = [(int(alone), int(whole), module.strip()) for alone, whole, module in lines]
    for title, column in (("alone", 0), ("with all that it imports", 1)):
        sys.stdout.write(f"\nus {title}\n")
        for cost in sorted(costs, key=lambda each: -each[column])[:40]:
            sys.stdout.write(f"{cost[column]:>9} {cost[2]}\n")
