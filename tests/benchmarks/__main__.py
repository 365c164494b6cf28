"""`python tests/benchmarks`: measure everything and print one table."""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from environments import PEERS, made_for, versions
from measure import CLOCKS, Line, measured, profiled, split
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rows import ROWS
from spread import number

README = Path(__file__).with_name("README.md")
CONSOLE = Console(width=None if sys.stdout.isatty() else 140, highlight=False)


def asked():
    parser = argparse.ArgumentParser(prog="python tests/benchmarks", description="Measure, and print one table.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all, if none is named")
    parser.add_argument("--peers", action="store_true", help="install other frameworks aside, and measure them too")
    parser.add_argument("--repeats", type=int, default=9, help="turns of a row that does not say how many it takes (9)")
    parser.add_argument("--readme", action="store_true", help="put the numbers into the README of the benchmark, too")
    parser.add_argument("--profile", metavar="ROW", choices=ROWS, help="print where a row spends it")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.rows if name not in ROWS]
    if unknown:
        parser.error(f"no row is called {unknown[0]!r}; rows: {', '.join(ROWS)}")
    return arguments


COLUMNS = ("what", "median", "unit", "wall", "CPU", "19 of 20 between", "target", "met")


def cells(line: Line) -> tuple[str, ...]:
    """A line of the table; what the target is about, a ratio or the value, lies between two numbers."""
    if line.problem:
        return line.name, "", line.unit, "", "", "", "", line.problem
    return (
        line.name,
        number(line.median),
        line.unit,
        *("" if (ratio := line.ratio(clock)) is None else number(ratio) for clock in CLOCKS),
        " to ".join(number(value) for value in line.between),
        "" if line.target is None else f"≤ {number(line.target)}",
        line.met,
    )


def machine(pythons: dict[str, str]) -> str:
    known = {name: version(name) for name in ("pydantic-ai-slim", "pydantic", "anyio")} | versions(pythons)
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
        f"stores under {tempfile.gettempdir()}; {', '.join(f'{name} {number}' for name, number in known.items())}"
    )


def printed(title: str, made: dict[str, list[Line]]) -> None:
    table = Table(*COLUMNS, title=title)
    for row, lines in ((ROWS[name], lines) for name, lines in made.items()):
        table.add_section()
        table.add_row(f"[bold]{row.name}[/bold]: {row.title}")
        for line in lines:
            table.add_row(*map(escape, cells(line)))
    CONSOLE.print(table)


def numbers(title: str, made: dict[str, list[Line]]) -> str:
    """Everything that was measured, as Markdown."""
    parts = [f"{datetime.now(UTC):%d %B %Y}. {title}."]
    for name, lines in made.items():
        parts += [f"`{name}`: {ROWS[name].title}.", written(COLUMNS, map(cells, lines))]
    return "\n\n".join(parts)


def purposes(made: dict[str, list[Line]]) -> str:
    """Return what the rows that can be split are made of, as Markdown."""
    parts = []
    for row in (ROWS[name] for name in made):
        for case in (case for case in row.cases if case.name in row.split):
            line = next(line for line in made[row.name] if line.name == case.name)
            rows = ((what, f"{part:.1%}", number(part * line.median)) for what, part in split(case).items())
            parts += [f"`{row.name}`: {case.name}.", written(("what it is for", "part", line.unit), rows)]
    return "\n\n".join(parts)


def written(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    rule = ("---", *("---:" for _ in head[1:]))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def put(**blocks: str) -> None:
    """Into the README beside this file, each in place of what is there."""
    text = README.read_text(encoding="utf-8")
    for name, block in blocks.items():
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = f"{before}{begin}{block}\n{end}{after}"
    README.write_text(text, encoding="utf-8")


def main() -> None:
    arguments = asked()
    rows = [ROWS[name] for name in arguments.rows or ROWS]
    if arguments.profile:
        profiled(ROWS[arguments.profile])
        return
    made = {}
    with tempfile.TemporaryDirectory(prefix="ohm-bench-peers-") as folder:
        peers, problems = made_for(PEERS, Path(folder)) if arguments.peers else ({}, {})
        title = machine(peers)
        for row in rows:
            CONSOLE.print(f"measuring {row.name}")
            made[row.name] = measured(row, {None: sys.executable, **peers}, problems, arguments.repeats)
    printed(title, made)
    if arguments.readme:
        put(numbers=numbers(title, made), purposes=purposes(made))


if __name__ == "__main__":
    main()
