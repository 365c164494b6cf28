"""The measuring of cases: real workers, on a subject that writes down when it was asked."""

import sys
from statistics import median

import pytest
from measure import Case, Compared, Row, lines, measured

SUBJECT = """
import os, sys
from contextlib import asynccontextmanager
from pathlib import Path

@asynccontextmanager
async def counting(name, diary, step=1, idle=0, fails_at=None, way=None):
    at = 0
    async def repeat():
        nonlocal at
        at += 1
        print("a library may print")
        with Path(diary).open("a") as file:
            file.write(name)
        if at == fails_at and way == "raise":
            raise ValueError("it broke")
        if at == fails_at and way == "end":
            sys.stderr.write("out of memory\\n")
            sys.stderr.flush()
            os._exit(1)
        return {"wall": at * step + idle, "cpu": at * step}
    yield repeat
"""


@pytest.fixture
def case(tmp_path):
    """A case that counts its repeats, and writes its name down at each."""
    (tmp_path / "subject.py").write_text(SUBJECT)

    def made(name, *, clock="wall", peer=None, target=None, beside=None, at_most=None, **arguments):
        return Case(
            name=name,
            file=str(tmp_path / "subject.py"),
            function="counting",
            unit="s",
            scale=1,
            arguments={"name": name[0], "diary": str(tmp_path / "diary"), **arguments},
            clock=clock,
            peer=peer,
            target=target,
            beside=beside,
            at_most=at_most,
        )

    return made


def run(*cases, compared=(), repeats=3, problems=None):
    row = Row(name="row", title="Row", cases=cases, compared=compared)
    return {line.name: line for line in measured(row, {None: sys.executable}, problems or {}, repeats)}


def test_cases_are_measured_in_turns_after_one_to_warm_up(case, tmp_path):
    made = run(case("a"), case("b"))
    assert (tmp_path / "diary").read_text() == "abababab"
    assert made["a"].values == (2, 3, 4)


def test_a_row_may_say_how_many_turns_it_takes(case):
    assert len(run(case("a"), repeats=3)["a"].values) == 3
    row = Row(name="row", title="Row", cases=(case("a"),), repeats=5)
    assert len(measured(row, {None: sys.executable}, {}, 3)[0].values) == 5


def test_a_ratio_is_made_within_each_turn_and_is_what_the_target_is_about(case):
    line = run(case("a"), case("b", step=3, beside="a", at_most=2))["b"]
    assert line.values == (6, 9, 12)
    assert line.judged == line.ratios["wall"] == (3, 3, 3)
    assert line.met == "no: 3.00 of 2.00"


def test_a_target_is_about_the_ratio_by_the_clock_of_its_case(case):
    made = run(
        case("a"), case("b", idle=9, beside="a", at_most=2), case("c", idle=9, beside="a", at_most=2, clock="cpu")
    )
    assert {clock: median(ratios) for clock, ratios in made["b"].ratios.items()} == {"wall": 4, "cpu": 1}
    assert made["b"].met == "no: 4.00 of 2.00"
    assert made["c"].met == "yes"


def test_wall_and_processor_time_of_one_subject_are_of_the_same_repeat(case, tmp_path):
    made = run(case("a", idle=9), case("a, CPU", idle=9, clock="cpu"))
    assert (tmp_path / "diary").read_text() == "aaaa"
    assert made["a"].values == (11, 12, 13)
    assert made["a, CPU"].values == (2, 3, 4)


def test_two_cases_can_be_compared_by_difference_and_by_ratio(case):
    compared = (
        Compared(name="more", of="b", beside="a", unit="s"),
        Compared(name="times", of="b", beside="a", unit="times", is_ratio=True),
    )
    made = run(case("a"), case("b", step=3), compared=compared)
    assert made["more"].values == (4, 6, 8)
    assert made["times"].values == (3, 3, 3)


def test_a_case_that_raises_is_told_and_the_others_go_on(case):
    made = run(case("a", fails_at=3, way="raise", target=9), case("b", beside="a", at_most=9))
    assert made["a"].met == "ValueError: it broke"
    assert not made["a"].values
    assert made["b"].values == (2, 3, 4)
    assert not made["b"].ratios


def test_a_case_without_what_it_is_compared_with_is_not_judged(case):
    assert run(case("a", fails_at=1, way="raise"), case("b", beside="a", at_most=0.1))["b"].met == ""


def test_a_process_that_ends_is_told_by_its_last_words(case):
    made = run(case("a", fails_at=2, way="end"), case("b"))
    assert made["a"].met == made["b"].met == "out of memory"


def test_a_peer_that_is_not_there_says_why_and_one_that_was_not_asked_for_is_left_out(case):
    made = run(case("a"), case("b", peer="b"), case("c", peer="c"), problems={"b": "does not install"})
    assert made["b"].met == "does not install"
    assert list(made) == ["a", "b"]


def test_a_plain_target_is_about_the_value(case):
    row = Row(name="row", title="Row", cases=(case("a", target=2), case("b", target=2)))
    first, second = lines(row, {"a": [1, 1, 1], "b": [3, 3, 3]}, {})
    assert (first.met, second.met) == ("yes", "no: 3.00 of 2.00")
