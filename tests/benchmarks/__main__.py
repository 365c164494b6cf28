"""`python tests/benchmarks`: measure everything and print one table."""

import argparse
import os
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from environments import made_for, versions
from measure import Line, measured, profiled
from rich.console import Console
from rich.table import Table
from rows import PEERS, ROWS

CONSOLE = Console(width=None if sys.stdout.isatty() else 140, highlight=False)


def asked():
    parser = argparse.ArgumentParser(prog="python tests/benchmarks", description="Measure, and print one table.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all, if none is named")
    parser.add_argument("--peers", action="store_true", help="install other frameworks aside, and measure them too")
    parser.add_argument("--repeats", type=int, default=9, help="repeats of each case (9)")
    parser.add_argument("--profile", metavar="ROW", choices=ROWS, help="print where the first case of a row spends it")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.rows if name not in ROWS]
    if unknown:
        parser.error(f"no row is called {unknown[0]!r}; rows: {', '.join(ROWS)}")
    return arguments


def number(value: float) -> str:
    for limit, digits in ((100, 0), (10, 1), (1, 2)):
        if abs(value) >= limit:
            return f"{value:,.{digits}f}"
    return f"{value:.3f}"


def verdict(line: Line) -> str:
    if line.target is None:
        return ""
    return "yes" if line.median <= line.target else f"no: {number(line.median)} of {number(line.target)}"


def add(table: Table, line: Line) -> None:
    if line.problem:
        table.add_row(line.name, "", "", line.unit, "", line.problem)
        return
    target = "" if line.target is None else f"≤ {number(line.target)}"
    spread = " to ".join(number(value) for value in line.spread)
    table.add_row(line.name, number(line.median), spread, line.unit, target, verdict(line))


def machine(pythons: dict[str, str]) -> str:
    known = {name: version(name) for name in ("pydantic-ai-slim", "pydantic", "anyio")} | versions(pythons)
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"stores under {tempfile.gettempdir()}; {', '.join(f'{name} {number}' for name, number in known.items())}"
    )


def main() -> None:
    arguments = asked()
    rows = [ROWS[name] for name in arguments.rows or ROWS]
    if arguments.profile:
        profiled(ROWS[arguments.profile])
        return
    with tempfile.TemporaryDirectory(prefix="ohm-bench-peers-") as folder:
        peers, problems = made_for(PEERS, Path(folder)) if arguments.peers else ({}, {})
        table = Table("what", "median", "middle half", "unit", "target", "met", title=machine(peers))
        for row in rows:
            CONSOLE.print(f"measuring {row.name}")
            table.add_section()
            table.add_row(f"[bold]{row.name}[/bold]: {row.title}")
            for line in measured(row, {None: sys.executable, **peers}, problems, arguments.repeats):
                add(table, line)
    CONSOLE.print(table)


if __name__ == "__main__":
    main()
