"""Measurements: what is measured, how repeats are interleaved, and what a line of the table is made of."""

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from spread import interval, verdict

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing to measure: `function(**arguments)` of a file in `subjects`.

    The function yields seconds, by the wall and of the processor, of which `clock` says the one to show, or a plain
    number; the table shows `scale` times that, in `unit`. `target` is about this, `at_most` about its ratio to the case
    called `beside` in the same turn. `peer` names the distribution that it needs; None is this environment. Cases of
    the same function and arguments are measured once.
    """

    name: str
    file: str
    function: str
    unit: str
    scale: float = 1e6
    arguments: dict[str, object] = field(default_factory=dict)
    clock: str = "wall"
    target: float | None = None
    beside: str | None = None
    at_most: float | None = None
    peer: str | None = None

    @property
    def subject(self) -> tuple[str, str, str]:
        """What is run for it."""
        return str(HERE / "subjects" / self.file), self.function, json.dumps(self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A number made of two cases of the same turn, so that what slows the machine down slows both."""

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
    """One line of the table: the values of all turns, and their ratios to another case; or why there are none."""

    name: str
    unit: str
    values: tuple[float, ...] = ()
    ratios: tuple[float, ...] = ()
    target: float | None = None
    problem: str = ""

    @property
    def judged(self) -> tuple[float, ...]:
        """What the target is about."""
        return self.ratios or self.values

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def ratio(self) -> float | None:
        return median(self.ratios) if self.ratios else None

    @property
    def between(self) -> tuple[float, float]:
        return interval(self.judged)

    @property
    def met(self) -> str:
        return self.problem or ("" if self.target is None else verdict(self.judged, self.target))


class Worker:
    """The process of all cases of a row that run in the same environment."""

    def __init__(self, cases: list[Case], python: str) -> None:
        self._subjects = list(dict.fromkeys(case.subject for case in cases))
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            command(self._subjects, python),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with suppress(BrokenPipeError):  # it may have ended before
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._errors.close()

    def turn(self) -> dict[tuple[str, str, str], dict[str, object]]:
        """One repeat of each subject: its value, or the error that it ended with."""
        return {subject: self._repeat(at) for at, subject in enumerate(self._subjects)}

    def _repeat(self, at: int) -> dict[str, object]:
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{at}\n")
            self._process.stdin.flush()
        said = self._process.stdout.readline()
        if said:
            return json.loads(said)
        self._errors.seek(0)
        told = self._errors.read().strip().splitlines() or ["it ended without a word"]
        return {"error": told[-1]}


def command(subjects: list[tuple[str, str, str]], python: str) -> list[str]:
    return [python, str(HERE / "worker.py"), *(word for subject in subjects for word in subject)]


def measured(row: Row, pythons: dict[str | None, str], problems: dict[str, str], repeats: int) -> list[Line]:
    """Every case once to warm up, then all of them in turns; a peer that is not there is a line that says why."""
    values: dict[str, list[float]] = {}
    failed = {case.name: problems[case.peer] for case in row.cases if case.peer in problems}
    present = [case for case in row.cases if case.peer in pythons and case.name not in failed]
    with ExitStack() as stack:
        workers = {
            peer: stack.enter_context(Worker([case for case in present if case.peer == peer], pythons[peer]))
            for peer in dict.fromkeys(case.peer for case in present)
        }
        for turn in range(1 + (row.repeats or repeats)):
            said = {peer: worker.turn() for peer, worker in workers.items()}
            for case in present:
                answer = said[case.peer][case.subject]
                if "error" in answer:
                    failed.setdefault(case.name, answer["error"])
                elif turn:
                    values.setdefault(case.name, []).append(_shown(case, answer["value"]))
    return lines(row, {name: made for name, made in values.items() if name not in failed}, failed)


def _shown(case: Case, value: float | dict[str, float]) -> float:
    return (value[case.clock] if isinstance(value, dict) else value) * case.scale


def lines(row: Row, values: dict[str, list[float]], failed: dict[str, str]) -> list[Line]:
    """What was measured of each case, and what is made of two."""
    made = []
    for case in row.cases:
        if case.name in failed:
            made.append(Line(name=case.name, unit=case.unit, problem=failed[case.name]))
        elif case.name in values:
            own = tuple(values[case.name])
            ratios = _paired(own, values.get(case.beside, ()), is_ratio=True)
            target = case.at_most if ratios else case.target
            made.append(Line(name=case.name, unit=case.unit, values=own, ratios=ratios, target=target))
    for each in row.compared:
        if each.of in values and each.beside in values:
            both = _paired(values[each.of], values[each.beside], is_ratio=each.is_ratio)
            made.append(Line(name=each.name, unit=each.unit, values=both, target=each.target))
    return made


def _paired(ones, others, *, is_ratio: bool) -> tuple[float, ...]:
    """Turn by turn."""
    return tuple(one / other if is_ratio else one - other for one, other in zip(ones, others, strict=False))


def profiled(row: Row) -> None:
    """Print where the first case of a row spends its time, or its memory."""
    subprocess.run([*command([row.cases[0].subject], sys.executable), "--profile"], check=True)
