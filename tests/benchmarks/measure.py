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

    The function yields seconds, by the wall and of the processor, or a plain number; the table shows `scale` times what
    `clock` says of it, in `unit`. `target` is about this, `at_most` about its ratio to the case called `beside` in the
    same turn. `peer` names the distribution that it needs; None is this environment. Cases of
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
        """Return what is run for it."""
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
    """Cases that are measured in turns; `split` are the names of those whose cost is split by what it is for."""

    name: str
    title: str
    cases: tuple[Case, ...]
    compared: tuple[Compared, ...] = ()
    repeats: int | None = None
    split: tuple[str, ...] = ()


CLOCKS = ("wall", "cpu")
Repeat = float | dict[str, float]
"""A plain number, or seconds by clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table: the values of all turns, their ratios to another case by clock; or why there are none."""

    name: str
    unit: str
    values: tuple[float, ...] = ()
    ratios: dict[str, tuple[float, ...]] = field(default_factory=dict)
    clock: str = "wall"
    target: float | None = None
    problem: str = ""

    @property
    def judged(self) -> tuple[float, ...]:
        """Return what the target is about."""
        return self.ratios.get(self.clock, self.values)

    @property
    def median(self) -> float:
        return median(self.values)

    def ratio(self, clock: str) -> float | None:
        return median(self.ratios[clock]) if clock in self.ratios else None

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
    repeated: dict[str, list[Repeat]] = {}
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
                    repeated.setdefault(case.name, []).append(answer["value"])
    return lines(row, {name: made for name, made in repeated.items() if name not in failed}, failed)


def lines(row: Row, repeated: dict[str, list[Repeat]], failed: dict[str, str]) -> list[Line]:
    """Return what was measured of each case, and what is made of two."""
    made, values = [], {}
    for case in row.cases:
        if case.name in failed:
            made.append(Line(name=case.name, unit=case.unit, problem=failed[case.name]))
        elif case.name in repeated:
            own = repeated[case.name]
            values[case.name] = tuple(_by(case.clock, each) * case.scale for each in own)
            ratios = _ratios(own, repeated.get(case.beside, ()))
            target = case.at_most if ratios else case.target
            shown = {"values": values[case.name], "ratios": ratios, "clock": case.clock, "target": target}
            made.append(Line(name=case.name, unit=case.unit, **shown))
    for each in row.compared:
        if each.of in values and each.beside in values:
            pairs = zip(values[each.of], values[each.beside], strict=False)
            both = tuple(one / other if each.is_ratio else one - other for one, other in pairs)
            made.append(Line(name=each.name, unit=each.unit, values=both, target=each.target))
    return made


def _by(clock: str, repeat: Repeat) -> float:
    return repeat[clock] if isinstance(repeat, dict) else repeat


def _ratios(ones: list[Repeat], others: list[Repeat]) -> dict[str, tuple[float, ...]]:
    """Turn by turn, by each clock; none without the others."""
    pairs = list(zip(ones, others, strict=False))
    return {clock: tuple(_by(clock, one) / _by(clock, other) for one, other in pairs) for clock in CLOCKS if pairs}


def split(case: Case) -> dict[str, float]:
    """The parts of a case's processor time, by what they are for."""
    said = subprocess.run([*command([case.subject], sys.executable), "--purposes"], check=True, stdout=subprocess.PIPE)
    return json.loads(said.stdout)


def profiled(row: Row) -> None:
    """Print where the first case of a row that has a target spends its time, or its memory; else the first of all."""
    targeted = (case for case in row.cases if case.target is not None or case.at_most is not None)
    case = next(targeted, row.cases[0])
    subprocess.run([*command([case.subject], sys.executable), "--profile"], check=True)
