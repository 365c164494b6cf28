"""Measurements: what is measured, how repeats are interleaved, and what a row of the table is made of."""

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing to measure: `function(**arguments)` of a file in `subjects`.

    The function yields seconds or bytes; the table shows `scale` times that, in `unit`. `peer` names the distribution
    that it needs; None is this environment.
    """

    name: str
    file: str
    function: str
    unit: str
    scale: float = 1e6
    arguments: dict[str, object] = field(default_factory=dict)
    target: float | None = None
    peer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A number made of two cases of the same repeat, so that what slows the machine down slows both."""

    name: str
    of: str
    beside: str
    unit: str
    is_ratio: bool = False
    target: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Cases that are measured in turns."""

    name: str
    title: str
    cases: tuple[Case, ...]
    compared: tuple[Compared, ...] = ()
    repeats: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table: the values of all repeats, or why there are none."""

    name: str
    unit: str
    values: tuple[float, ...] = ()
    target: float | None = None
    problem: str = ""

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        """The middle half of the values lies between these."""
        if len(self.values) < 2:
            return self.values[0], self.values[0]
        low, _, high = quantiles(self.values, n=4, method="inclusive")
        return low, high


class Worker:
    """The process of one case."""

    def __init__(self, case: Case, python: str) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            command(case, python), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with suppress(BrokenPipeError):  # it may have ended before
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._errors.close()

    def repeat(self) -> tuple[float | None, str]:
        """The next value, or why there is none."""
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            said = self._process.stdout.readline()
        except BrokenPipeError:
            said = self._process.stdout.readline()
        if not said:
            self._errors.seek(0)
            told = self._errors.read().strip().splitlines() or ["it ended without a word"]
            return None, told[-1]
        answer = json.loads(said)
        return answer.get("value"), answer.get("error", "")


def command(case: Case, python: str) -> list[str]:
    subject = HERE / "subjects" / case.file
    return [python, str(HERE / "worker.py"), str(subject), case.function, json.dumps(case.arguments)]


def measured(row: Row, pythons: dict[str | None, str], problems: dict[str, str], repeats: int) -> list[Line]:
    """Every case once to warm up, then all of them in turns; a peer that is not there is a line that says why."""
    values: dict[str, list[float]] = {}
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        for case in row.cases:
            if case.peer in problems:
                failed[case.name] = problems[case.peer]
            elif case.peer in pythons:
                workers[case.name] = stack.enter_context(Worker(case, pythons[case.peer]))
        for turn in range(1 + (row.repeats or repeats)):
            for case in row.cases:
                if case.name not in workers or case.name in failed:
                    continue
                value, problem = workers[case.name].repeat()
                if value is None:
                    failed[case.name] = problem
                elif turn:
                    values.setdefault(case.name, []).append(value * case.scale)
    return _lines(row, values, failed)


def _lines(row: Row, values: dict[str, list[float]], failed: dict[str, str]) -> list[Line]:
    lines = [
        Line(name=case.name, unit=case.unit, problem=failed[case.name])
        if case.name in failed
        else Line(name=case.name, unit=case.unit, values=tuple(values[case.name]), target=case.target)
        for case in row.cases
        if case.name in failed or case.name in values
    ]
    for each in row.compared:
        if each.of not in values or each.beside not in values:
            continue
        pairs = zip(values[each.of], values[each.beside], strict=False)
        made = tuple(one / other if each.is_ratio else one - other for one, other in pairs)
        lines.append(Line(name=each.name, unit=each.unit, values=made, target=each.target))
    return lines


def profiled(row: Row) -> None:
    """Print where the first case of a row spends its time, or its memory."""
    subprocess.run([*command(row.cases[0], sys.executable), "--profile"], check=True)
