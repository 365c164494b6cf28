"""A fleet of runners and submitters in virtual time: our queue, ledger and placement, and everything else made up.

An event is a function that a heap calls at its time, and a task is a coroutine that these functions resume; nothing
waits, and a seed gives the same fleet on every machine.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, deque
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from types import coroutine

from ohm_subagents._orchestrator.ledger import Ledger
from ohm_subagents._orchestrator.run_queue import RunQueue
from ohm_subagents._orchestrator.spending import BudgetExceeded
from ohm_subagents.contract import Budget, Usage
from ohm_subagents.plugin import RequestNeed
from ohm_subagents.remote import RunnerLoad, Scaling, opens_at, placed, retry_wait_s, wanted_runners

NEED = RequestNeed(provider="acme", input_tokens=1000, max_output_tokens=1000)
USAGE = Usage(requests=1, input_tokens=1000, output_tokens=500)
TOKENS = USAGE.input_tokens + USAGE.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The work of a fleet, and its mishaps. All times are means, in seconds."""

    tasks: int
    submitters: int
    """Two of them share a pool of runners."""
    runners_per_pool: int = 20
    runs_per_runner: int = 2
    max_running: int = 10
    every_s: float = 0.0
    """The time between two tasks of a submitter; 0 if all come at once."""
    request_s: float = 15.0
    requests: float = 2.0
    """The mean of the requests of a task, which are one at least."""
    feed_s: float = 0.05
    slow_feeds: float = 0.01
    """The share of reports that take `slow_feed_s`."""
    slow_feed_s: float = 5.0
    runner_life_s: float = 3600.0
    runner_down_s: float = 8.0
    detect_s: float = 1.7
    start_s: float = 1.5
    submitter_life_s: float = 20_000.0
    submitter_down_s: float = 30.0
    retries: int = 3
    task_requests: int = 10
    """The budget of a task."""
    tight: int = 0
    """Of every so many submitters, one has a budget for 80 % of its tasks."""
    seed: int = 1

    @property
    def runners(self) -> int:
        return self.submitters // 2 * self.runners_per_pool


@coroutine
def until(arm):
    """Wait until the function that `arm` is given is called, and return its argument."""
    return (yield arm)


class Task:
    """The stored part of a task, and its run at a runner."""

    __slots__ = ("asked_at", "done", "hosted", "id", "losses", "needs", "requests", "runs")
    diagnostics = ("All of its call was taken.",)
    """Not empty, so that no plan is looked at."""

    def __init__(self, number, needs, asked_at):
        self.id, self.needs, self.asked_at = number, needs, asked_at
        self.done = self.losses = self.requests = 0
        self.hosted = None
        self.runs = ()


class NoCaller:
    task_id = None


class NoRecord:
    def add(self, event):
        """Forget that it was queued."""


class Live:
    """A task in one life of its submitter, as the queue sees it."""

    __slots__ = ("task", "ticket", "work")
    caller, record, origin, parent = NoCaller(), NoRecord(), None, None

    def __init__(self, task):
        self.task, self.ticket, self.work = task, None, None


class Hosted:
    """A run at a runner: how many requests are done there, and who listens."""

    __slots__ = ("finished", "is_asking", "is_lost", "life", "resume", "runner", "submitter")

    def __init__(self, submitter, runner):
        self.submitter, self.runner = submitter, runner
        self.life = runner.life if runner.is_up else None
        self.finished = 0
        self.is_asking = self.is_lost = False
        self.resume = None

    def listen(self, resume):
        self.resume = resume

    def tell(self):
        resume, self.resume = self.resume, None
        if resume is not None:
            resume(None)


class Runner:
    """Hosts runs until it dies, and again once it is back."""

    def __init__(self):
        self.life, self.is_up, self.is_missed = 0, True, False
        self.hosted = {}
        self.users = 0
        self.callers = []


class Group:
    """Starts the tasks of one life of a submitter."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.is_over = False

    def create_task(self, work, *, name, context):
        del name, context
        if self.is_over:
            work.close()
        else:
            self.fleet.soon(self.step, work)

    def step(self, work, value=None):
        if self.is_over:
            work.close()
            return
        try:
            arm = work.send(value)
        except StopIteration:
            return
        arm(lambda told: self.fleet.soon(self.step, work, told))


class Waiter:
    """Is told of by a ledger as an event is."""

    def __init__(self, resume):
        self.resume = resume

    def set(self):
        self.resume(None)


class Submitter:
    """Has tasks, and a queue and a ledger for each of its lives."""

    def __init__(self, fleet, number):
        self.fleet, self.plan = fleet, fleet.plan
        self.runners = fleet.pools[number // 2]
        self.scaling = Scaling(
            max_runners=self.plan.runners_per_pool, runs_per_runner=self.plan.runs_per_runner, idle_s=60.0
        )
        each = self.plan.tasks // self.plan.submitters
        is_tight = self.plan.tight and number % self.plan.tight == 0
        share = 0.8 if is_tight else 2.0
        self.budget = Budget(tokens=int(each * self.plan.requests * TOKENS * share))
        self.is_up = True
        self.tasks = {}
        self.requests = self.tokens = 0
        self.loads = []
        self.open()

    def open(self):
        """Begin a life: go on with what is stored."""
        self.is_up = True
        self.group = Group(self.fleet)
        self.queue = RunQueue(self.group, self.work)
        self.queue.limit(self.plan.max_running)
        self.ledger = Ledger(self.budget, owner="subagents.budget", level=1)
        self.ledger.budgets[0].tokens = self.tokens
        self.ledger.budgets[0].requests = self.requests
        self.waiting = deque()
        self.quiet_since = None
        self.running = 0
        self.forget_runners()
        kept = sorted(self.tasks.values(), key=lambda task: (task.hosted is None, task.id))
        for task in kept:
            if task.hosted is not None and not task.hosted.is_lost:
                self.grow(task.hosted.runner.index + 1)
                self.loads[task.hosted.runner.index] = self.loads[task.hosted.runner.index].begun()
                self.fleet.count["attached"] += 1
        if kept:
            self.put(kept)

    def die(self):
        self.is_up = False
        self.group.is_over = True
        for task in self.tasks.values():
            if task.hosted is not None:
                task.hosted.resume = None

    def ask(self, tasks):
        """Take in new tasks, which wait in the store while it is away."""
        self.tasks |= {task.id: task for task in tasks}
        if self.is_up:
            self.put(tasks)

    def put(self, tasks):
        self.queue.put([Live(task) for task in tasks], workers=len(self.tasks))
        self.scale()

    def scale(self):
        """Have as many runners as the queue asks for; one that is ended has no runs."""
        now, size = self.fleet.now, len(self.loads)
        runs = min(len(self.tasks), self.plan.max_running)
        quiet_s = 0.0 if self.quiet_since is None else now - self.quiet_since
        wanted = wanted_runners(self.scaling, runners=size, runs=runs, quiet_s=quiet_s)
        if wanted > size:
            self.grow(wanted)
        while len(self.loads) > wanted and not self.loads[-1].running:
            self.loads.pop()
            self.runners[len(self.loads)].users -= 1
            self.fleet.count["ended runners"] += 1
        is_quiet = runs <= (len(self.loads) - 1) * self.plan.runs_per_runner
        self.quiet_since = None if not is_quiet else now if self.quiet_since is None else self.quiet_since

    def grow(self, count):
        while len(self.loads) < count:
            runner = self.runners[len(self.loads)]
            start_s = 0.0 if runner.users else self.plan.start_s
            runner.users += 1
            self.loads.append(RunnerLoad(open_at=self.fleet.now + start_s))
        self.wake()

    def forget_runners(self):
        while self.loads:
            self.loads.pop()
            self.runners[len(self.loads)].users -= 1

    def wake(self, _none=None):
        """Let those look again who wait for a place."""
        waiting, self.waiting = self.waiting, deque()
        for resume in waiting:
            resume(None)

    def lose(self, index):
        """Hear that a runner is gone."""
        if self.is_up and index < len(self.loads):
            self.loads[index] = self.loads[index].lost(self.fleet.now)

    async def work(self, live, begun):
        begun()
        self.running += 1
        assert self.running <= self.plan.max_running
        task = live.task
        ledger = Ledger(Budget(requests=self.plan.task_requests), owner="the task", level=2, parent=self.ledger)
        ledger.budgets[0].requests = task.requests
        ending = await self.drive(task, ledger)
        self.running -= 1
        del self.tasks[task.id]
        self.fleet.end(task, ending)
        self.scale()

    async def drive(self, task, ledger):
        while True:
            if task.hosted is None:
                await self.begin(task)
            hosted = task.hosted
            ending = await self.play(task, hosted, ledger)
            task.hosted = None
            if ending is not None:
                self.loads[hosted.runner.index] = self.loads[hosted.runner.index].ended()
                del hosted.runner.hosted[task.id]
                self.wake()
                return ending
            task.losses += 1
            wait_s = retry_wait_s(losses=task.losses, retries=self.plan.retries, jitter=self.fleet.random.random())
            if wait_s is None:
                return "runner_lost"
            if wait_s:
                await until(lambda resume, wait_s=wait_s: self.fleet.after(wait_s, resume, None))

    async def begin(self, task):
        """Find a place and begin a run there."""
        fleet, most = self.fleet, self.plan.runs_per_runner
        while (index := placed(self.loads, runs_per_runner=most, now=fleet.now)) is None:
            at = opens_at(self.loads, runs_per_runner=most)
            if at < math.inf:
                fleet.after(at - fleet.now, self.wake, None)
            await until(self.waiting.append)
        self.loads[index] = self.loads[index].begun()
        runner = self.runners[index]
        if runner.is_missed:  # its greeting is answered once it is back
            await until(runner.callers.append)
        task.hosted = runner.hosted[task.id] = Hosted(self, runner)
        mine = sum(one.submitter is self for one in runner.hosted.values())
        assert mine <= most, "no runner is above its limit"
        if not task.runs:
            task.runs = (1,)
            fleet.begun(task)

    async def play(self, task, hosted, ledger):
        """Go on with a run to its end; None if its runner is lost."""
        while True:
            if hosted.is_lost:
                return None
            reservation = ledger.reserve(NEED)
            if isinstance(reservation, BudgetExceeded):
                if not reservation.may_return:
                    return "budget_exceeded"
                await until(lambda resume: ledger.waiters.append(Waiter(resume)))
                continue
            if not hosted.finished:
                if not hosted.is_asking:
                    self.fleet.request(hosted)
                await until(hosted.listen)
            self.requests += 1
            task.requests += 1
            assert task.requests <= self.plan.task_requests, "no budget is exceeded"
            if hosted.is_lost:
                ledger.commit(reservation)
                return None
            hosted.finished = 0
            self.tokens += TOKENS
            ledger.spend(USAGE, reservation)
            assert self.tokens <= self.budget.tokens, "no budget is exceeded"
            task.done += 1
            if task.done == task.needs:
                return "succeeded"


class Fleet:
    """Everything that happens, in the order of its times. Make it in a coroutine: the queue asks for the event loop."""

    def __init__(self, plan):
        self.plan = plan
        self.random = Random(plan.seed)
        self.now = 0.0
        self.count = Counter()
        self.waits = array("d")
        self.ended = bytearray(plan.tasks)
        self.left = plan.tasks
        self._events = []
        self._number = 0
        self._ready = deque()
        self.pools = [[Runner() for _ in range(plan.runners_per_pool)] for _ in range(plan.submitters // 2)]
        self.submitters = [Submitter(self, number) for number in range(plan.submitters)]
        for number, pool in enumerate(self.pools):
            for index, runner in enumerate(pool):
                runner.index = index
                self.after(self.some(plan.runner_life_s), self.kill_runner, (number, runner))
        each = plan.tasks // plan.submitters
        for number, submitter in enumerate(self.submitters):
            self.after(self.some(plan.submitter_life_s), self.kill_submitter, submitter)
            if plan.every_s:
                self.after(self.some(plan.every_s), self.arrive, (submitter, range(number * each, (number + 1) * each)))
            else:
                submitter.ask([self.task(one) for one in range(number * each, (number + 1) * each)])

    def some(self, mean_s):
        return -mean_s * math.log(1.0 - self.random.random())

    def soon(self, function, *arguments):
        self._ready.append((function, arguments))

    def after(self, wait_s, function, argument):
        self._number += 1
        heappush(self._events, (self.now + wait_s, self._number, function, argument))

    def run(self, tasks=None):
        """Let everything happen until so many tasks have ended, all of them unless told; then it may go on."""
        ready, events = self._ready, self._events
        rest = 0 if tasks is None else self.plan.tasks - tasks
        while self.left > rest or ready:
            while ready:
                function, arguments = ready.popleft()
                function(*arguments)
            if self.left > rest:
                self.now, _, function, argument = heappop(events)
                function(argument)
        return self

    def leave(self):
        """Let nothing begin any more, so that what goes on may be dropped."""
        for submitter in self.submitters:
            submitter.group.is_over = True

    def task(self, number):
        needs = 1
        while self.random.random() > 1 / self.plan.requests:
            needs += 1
        return Task(number, needs, self.now)

    def arrive(self, who):
        submitter, numbers = who
        submitter.ask([self.task(numbers[0])])
        if len(numbers) > 1:
            self.after(self.some(self.plan.every_s), self.arrive, (submitter, numbers[1:]))

    def begun(self, task):
        self.waits.append(self.now - task.asked_at)

    def end(self, task, ending):
        assert not self.ended[task.id], "every task ends once"
        assert ending != "succeeded" or task.done == task.needs, "nothing is lost"
        self.ended[task.id] = 1
        self.left -= 1
        self.count[ending] += 1

    def request(self, hosted):
        """Let a runner make a request and report it."""
        is_open = hosted.is_asking or hosted.finished
        assert not is_open, "a request is made once, whoever attaches to its run"
        hosted.is_asking = True
        feed_s = self.plan.slow_feed_s if self.random.random() < self.plan.slow_feeds else self.plan.feed_s
        self.after(self.some(self.plan.request_s) + feed_s, self.report, hosted)

    def report(self, hosted):
        if hosted.life == hosted.runner.life and not hosted.is_lost:
            hosted.is_asking = False
            hosted.finished = 1
            hosted.tell()

    def kill_runner(self, which):
        _, runner = which
        self.count["runners that died"] += 1
        runner.life += 1
        runner.is_up = False
        self.after(self.plan.detect_s, self.miss_runner, which)
        self.after(self.plan.runner_down_s, self.restart_runner, which)

    def miss_runner(self, which):
        number, runner = which
        runner.is_missed = True
        for submitter in self.submitters[2 * number : 2 * number + 2]:
            submitter.lose(runner.index)
        hosted, runner.hosted = runner.hosted, {}
        self.count["lost runs"] += len(hosted)
        for one in hosted.values():
            one.is_lost = True
            one.tell()

    def restart_runner(self, which):
        _, runner = which
        runner.is_up, runner.is_missed = True, False
        callers, runner.callers = runner.callers, []
        for resume in callers:
            resume(None)
        self.after(self.some(self.plan.runner_life_s), self.kill_runner, which)

    def kill_submitter(self, submitter):
        self.count["submitters that died"] += 1
        submitter.die()
        self.after(self.plan.submitter_down_s, self.restart_submitter, submitter)

    def restart_submitter(self, submitter):
        submitter.open()
        self.after(self.some(self.plan.submitter_life_s), self.kill_submitter, submitter)

    def wait_p99_s(self):
        """The time that 99 of 100 tasks waited at most for their first run."""
        waits = sorted(self.waits)
        return waits[math.ceil(0.99 * len(waits)) - 1]
