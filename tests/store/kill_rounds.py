"""Kills a process that runs tasks, at random moments and at each write of its journal, and looks what is left.

By hand: `python tests/store/kill_rounds.py --rounds 500`. Prints how many rounds there were and what was lost.
"""

import argparse
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import anyio

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

from forking import forked  # noqa: E402  after the path above
from kill_child import POLICY, answer  # noqa: E402  a program beside this one

from ohm_subagents._app.sources import system_clock  # noqa: E402  after the path above
from ohm_subagents.contract import Err  # noqa: E402  after the path above
from ohm_subagents.store import StoreRequest  # noqa: E402  after the path above
from ohm_subagents.stores.sqlite.opening import open_sqlite  # noqa: E402  after the path above

STEPS = ("before transaction", "before commit", "after commit")


@dataclass
class Report:
    """The result of all rounds; `losses` are sentences."""

    rounds: int = 0
    accepted: int = 0
    answered: int = 0
    recovered: int = 0
    losses: list[str] = field(default_factory=list)

    def __str__(self):
        told = f"{self.rounds} rounds, {self.accepted} tasks accepted, {self.answered} answered"
        return "\n".join([f"{told}, {self.recovered} recovered, {len(self.losses)} losses", *self.losses[:20]])


def killed(directory, *, when=(), after_s=None):
    """Return what a child said until it was killed: at a step, or after a time that begins with its first task."""
    with forked(HERE / "kill_child.py", directory, *when) as child:
        first = child.stdout.readline()
        if after_s is not None:
            time.sleep(after_s)
            child.kill()
        said = first + child.stdout.read()
        assert child.wait() == -signal.SIGKILL, f"the child ended with {child.returncode}"
    lines = said.splitlines()
    return [{line.split()[1] for line in lines if line.startswith(word)} for word in ("accepted", "answered")]


async def left(directory, accepted, answered, report):
    """Open what is left, and compare it with what was said."""
    async with open_sqlite(StoreRequest(directory=directory, clock=system_clock, policy=POLICY)) as store:
        report.recovered += len(store.diagnostics)
        for task_id in accepted:
            found = store.get(task_id)
            if isinstance(found, Err):
                report.losses.append(f"{task_id} was accepted: {found.err_value}")
                continue
            task = found.ok_value
            if not task.is_terminal:
                report.losses.append(f"{task_id} is {task.status}")
            if task_id in answered and (task.status, task.output) != ("succeeded", answer(task_id)):
                report.losses.append(f"{task_id} was answered, and is {task.status}: {task.output!r}")
            activity = task.activity
            if task_id in answered and (len(activity.calls), activity.checkpoint, activity.usage.requests) != (
                2,
                '["a conversation"]',
                1,
            ):
                report.losses.append(f"{task_id} was answered, and lacks its work: {task}")
        live = [task.id for task in store.tasks() if not task.is_terminal]
        report.losses += [f"{task_id} is not over" for task_id in live]
    connection = sqlite3.connect(directory / "ohm.subagents.tasks.sqlite3")
    (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    if integrity != "ok":
        report.losses.append(f"integrity: {integrity}")


def play(report, directory, **how):
    """One round."""
    accepted, answered = killed(directory, **how)
    report.rounds += 1
    report.accepted += len(accepted)
    report.answered += len(answered)
    anyio.run(left, directory, accepted, answered, report)


def rounds(*, at_random, writes, seed=1):
    """`at_random` rounds on one registry, and one for each step of each of these writes, which count from 1."""
    report, chance = Report(), random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="ohm-kill-"))
    try:
        for number in range(at_random):
            play(report, folder / f"random-{number // 50}", after_s=chance.uniform(0.0, 0.3))
        for step in STEPS:
            for number in writes:
                play(report, folder / "steps", when=(step, number))
    finally:
        shutil.rmtree(folder)
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--writes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    outcome = rounds(at_random=given.rounds, writes=range(1, given.writes + 1), seed=given.seed)
    sys.stdout.write(f"{outcome}\n")
    sys.exit(bool(outcome.losses))
