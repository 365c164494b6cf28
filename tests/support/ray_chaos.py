"""Rounds of `kill -9` in a batch of tasks on a Ray cluster; `python tests/support/ray_chaos.py` plays 200.

In each a runner, a node, the ledger or the submitter is killed at some moment; where it is the ledger, the submitter is
mostly gone by then. Then each task has to have ended once, with all its text, and no more
requests than its budget, and that of those that share one, allow may have been made: the runners count them in files of
their own. At the end there may be no run, actor, process, socket or directory that was not there before.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import psutil
import ray_submitter
from anyio import to_thread
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic_core import from_json
from ray_clusters import cluster_of_tests, with_nobody
from ray_submitter import begun, opened
from remains import found

from ohm_ray.calls import NAMESPACE, ActorCalls
from ohm_subagents import ErrorCode
from ohm_subagents.contract import RunStarted, TaskSettled, TextDelta
from ohm_subagents.plugin import Err, hookimpl
from ohm_subagents.remote import UndeliveredError

HELD = "ohm/held/0"
"""The runner that holds the connection to the cluster."""
VICTIMS = ("runner", "node", "submitter", "ledger")
LAST = 40
LAST_UNATTENDED = 140
"""The numbers that a task says, and those where it has to go on alone: with seven requests in between."""
GREEDY = 10
"""One of so many tasks asks for more requests than its budget has."""
REQUESTS = 8
SHARING = 5
"""The tasks that share a budget, each of which asks for all of it."""
SHARED = 20
UNATTENDED_S = 10
"""Seconds in which the runs of a submitter that was killed have to go on, if there is anything left for them to do."""
RUNNERS = 4
UNATTENDED = 0.7
"""The part of the rounds with a ledger in which its submitter is gone."""
OPTIONS = {"pool": "chaos", "onLost": "retry", "resources": {"slot": 0.5}}
OPTIONS |= {"ledgerAfterMs": 1000, "ledgerIdleMs": 60_000}
ROUND_S = 600
"""Seconds that a round may take, on a machine with much else to do."""
ENDED_S = 240
"""Seconds in which a ledger ends by itself, also one that nobody has told that its tasks are over."""
SUBAGENTS = {"budget": {"requests": SHARED}, "asyncStart": "allow"}


class Moment:
    """An observer that is there once so many pieces of text were heard."""

    def __init__(self, pieces):
        self.left, self.come = pieces, anyio.Event()

    @hookimpl
    def ohm_observers(self):
        return (self,)

    def notify(self, _task, event):
        self.left -= isinstance(event, TextDelta)
        if self.left == 0:
            self.come.set()


class Chaos:
    """Plays rounds on a cluster, and counts what it finds."""

    def __init__(self, cluster, directory, *, seed, tasks, runners=RUNNERS):
        self.cluster, self.directory, self.tasks = cluster, directory, tasks
        self.options = OPTIONS | {"runners": runners}
        self._ask(LAST)
        self.chance = random.Random(seed)
        self.found = Counter()
        self.rounds_s = []

    def _ask(self, last):
        """Let each task of the next batch say so many numbers."""
        self.last = last
        self.prompts = [f"{'greed' if number % GREEDY == 0 else 'work'} {last}" for number in range(self.tasks)]
        self.prompts += [f"greed {last}"] * SHARING

    @asynccontextmanager
    async def playing(self):
        """Hold the connection to the cluster; its nodes have a `slot` for each of the runners."""
        async with opened(self.directory, self.cluster.env, pool="held", store="memory") as self.holder:
            (await self.holder.run("finder", "say")).unwrap()
            self.others = {*self.cluster.runners()}
            yield self

    def opened(self, *plugins, **more):
        return opened(self.directory, self.cluster.env, *plugins, subagents=SUBAGENTS, **self.options, **more)

    async def round(self, victim):
        """Kill one of these in a batch, and check what is left of it."""
        began = time.monotonic()
        with anyio.fail_after(ROUND_S):
            unattended = victim == "ledger" and self.chance.random() < UNATTENDED
            self._ask(LAST_UNATTENDED if unattended else LAST)
            if victim == "submitter" or unattended:
                await self._without_its_submitter(unattended=unattended)
            else:
                await self._without(victim)
        self.rounds_s.append(time.monotonic() - began)
        self.found[victim] += 1

    async def _without_its_submitter(self, *, unattended):
        arguments = [f"{self.directory}", json.dumps(self.prompts), json.dumps(self.options), f"{REQUESTS}"]
        arguments += [f"{SHARING}", json.dumps(SUBAGENTS)]
        command = [sys.executable, ray_submitter.__file__, *arguments]
        async with await anyio.open_process(command, env=self.cluster.env, stderr=None) as submitter:
            line = await BufferedByteReceiveStream(submitter.stdout).receive_until(b"\n", 100_000)
            if not unattended:
                await anyio.sleep(self.chance.random() * 0.4)  # the moment of the kill is what the round varies
            submitter.kill()
        if unattended:
            await self._go_on_alone(line.decode().split())
            await to_thread.run_sync(self._kill, self.chance.choice(("ledger", "runner")))
            await anyio.sleep(self.chance.random())
        async with self.opened() as ohm:
            self.found["running at the kill"] += sum(
                not ohm.store.get(one).unwrap().is_terminal for one in line.decode().split()
            )
            await self._check(ohm, line.decode().split())

    async def _go_on_alone(self, ids):
        """Wait until runs have made requests that nobody but the ledger can have granted."""
        await anyio.sleep(0.5)  # what was granted before the kill may still go out
        before = sum(map(self.cluster.requests, ids))
        with anyio.move_on_after(UNATTENDED_S):
            while sum(map(self.cluster.requests, ids)) == before:  # noqa: ASYNC110  they are counted in files
                await anyio.sleep(0.02)
        await anyio.sleep(self.chance.random() * 0.4)
        self.found["requests without a submitter"] += sum(map(self.cluster.requests, ids)) - before

    async def _without(self, victim):
        moment = Moment(self.chance.randrange(1, int(self.tasks * self.last * 0.8)))
        async with self.opened(moment) as ohm:
            ids = await begun(ohm, self.prompts, REQUESTS, SHARING)
            await moment.come.wait()
            self.found["running at the kill"] += sum(not ohm.task(one).is_terminal for one in ids)
            await to_thread.run_sync(self._kill, victim)
            await self._check(ohm, ids)

    def _kill(self, victim):
        if victim == "runner":
            runners = [one for one in self.cluster.runners() if one not in self.others]
            os.kill(self.chance.choice(runners).pid, signal.SIGKILL)
        elif victim == "ledger":
            for ledger in self.cluster.ledgers():
                with_nobody(ledger.kill)
        else:
            node = self.chance.choice(self.cluster.nodes)
            self.cluster.kill_node(node)
            self.cluster.add_node(place=node.place, slots=RUNNERS // 2)

    async def _check(self, ohm, ids):
        results = [await ohm.handle(one).wait() for one in ids]
        for prompt, task_id, result in zip(self.prompts, ids, results, strict=True):
            task = ohm.task(task_id)
            said = [int(word) for word in task.text.split()]
            kinds = Counter(type(one.event) for one in await ohm.store.history(task))
            again = any("another one" in told.message for told in task.diagnostics)
            requests, counted = self.cluster.requests(task_id), task.activity.usage.requests
            assert (kinds[RunStarted], kinds[TaskSettled]) == (1, 1), (task_id, kinds)
            most = SHARED if task_id in ids[-SHARING:] else REQUESTS
            assert requests <= most, (task_id, requests)
            assert requests <= counted <= most, (task_id, requests, counted)
            if prompt.startswith("greed"):
                assert code_of(result) == ErrorCode.BUDGET_EXCEEDED, (prompt, result, said, requests, counted, task)
                assert {*said} == {*range(1, max(said, default=0) + 1)}, (task_id, said)
            elif again and self.last == LAST_UNATTENDED and result.is_err():
                # it began again from where its submitter had last heard of it, with what it had requested since
                assert code_of(result) == ErrorCode.BUDGET_EXCEEDED, (prompt, result, said, requests, counted, task)
                assert {*said} == {*range(1, max(said, default=0) + 1)}, (task_id, said)
                self.found["tasks with nothing left for what they lost"] += 1
            else:
                assert output_of(result) == f"Done: {prompt}", (prompt, result, said, task)
                assert {*said} == {*range(1, self.last + 1)}, (task_id, said)
            assert again or said == [*range(1, len(said) + 1)], (task_id, said)
            self.found["tasks"] += 1
            self.found["tasks that went on elsewhere"] += again
            self.found["texts said twice"] += len(said) - len({*said})
            self.found["requests"] += requests
            self.found["requests that were counted and not made"] += counted - requests
        shared = sum(map(self.cluster.requests, ids[-SHARING:]))
        assert shared <= SHARED, shared
        self.found["requests of the shared budget"] += shared

    async def left(self):
        """The runs that the runners still have, once all is over: those that go on, and those that have ended."""
        running, ended = [], []
        for name in self.names():
            hello = await self._hello(name)
            running += hello["running"]
            ended += hello["ended"]
        return running, ended

    async def _hello(self, name):
        """Ask a runner who it is; one that was killed may be started anew just now."""
        with anyio.fail_after(60):
            while True:
                try:
                    return from_json(await ActorCalls(actor(name)).call("hello"))
                except UndeliveredError:
                    await anyio.sleep(0.2)

    def names(self):
        """The names of the runners that there have to be."""
        return [f"ohm/{OPTIONS['pool']}/{number}" for number in range(self.options["runners"])]

    async def end(self):
        """End the runners, which stay after their programs. Each has one process, and nothing else of ours is left."""
        (await self.holder.run("finder", "say")).unwrap()  # its runner may have been killed with its node
        runners = self.cluster.runners()
        with anyio.fail_after(ENDED_S):
            while actors() != [*self.names(), HELD]:  # noqa: ASYNC110  the ledger ends by itself, and tells nobody
                await anyio.sleep(0.2)
        assert len(runners) == len(actors()), runners
        for name in actors():
            kill(name)
        _, alive = await to_thread.run_sync(psutil.wait_procs, runners, 60)
        assert (alive, actors(), self.cluster.runners()) == ([], [], [])


def code_of(result):
    return result.err_value.code if isinstance(result, Err) else None


def output_of(result):
    return None if isinstance(result, Err) else result.ok_value.output


def actor(name):
    import ray

    return ray.get_actor(name, namespace=NAMESPACE)


def kill(name):
    import ray

    ray.kill(actor(name))


def actors():
    """The names of all actors of the cluster."""
    import ray

    return sorted(one["name"] for one in ray.util.list_named_actors(all_namespaces=True))


def tell(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def keep(cluster, directory):
    """Keep the tasks of a round that failed, and what was logged of it."""
    shutil.copytree(cluster.directory / "requests", directory / "requests")
    for place in ("kept/*", "log*", "ray/session_*/logs/*"):
        for file in filter(Path.is_file, cluster.directory.glob(place)):
            shutil.copy(file, directory)


async def play(rounds, *, seed, tasks, kept):
    """Play the rounds; raise if anything is left after them. Of one that fails, tasks and logs go to `kept`."""
    before = {*found()}
    with cluster_of_tests() as cluster:
        cluster.env["OHM_RAY_ADDRESS"] = cluster.address
        for place in ("here", "there"):
            await to_thread.run_sync(lambda place=place: cluster.add_node(place=place, slots=RUNNERS // 2))
        chaos = Chaos(cluster, cluster.directory / "kept", seed=seed, tasks=tasks)
        began = time.monotonic()
        async with chaos.playing():
            at_work = {*found(cluster.directory)} - before
            assert {one.split()[0] for one in at_work} == {"process", "socket", "directory"}, at_work
            for number in range(rounds):
                victim = chaos.chance.choice(VICTIMS)
                tell(f"{number + 1:4} {victim:<10}")
                try:
                    await chaos.round(victim)
                except BaseException:
                    await to_thread.run_sync(keep, cluster, kept)
                    raise
                tell(f"{chaos.rounds_s[-1]:5.1f} s  {dict(chaos.found)}\n")
            running, ended = await chaos.left()
            tell(f"left at the runners: {len(running)} that go on, {len(ended)} that have ended\n")
            assert running == []
            await chaos.end()
    tell(f"{rounds} rounds in {time.monotonic() - began:.0f} s\n")
    with anyio.move_on_after(60):  # Ray closes the connections of a program to a cluster that has ended one by one
        while {*found(cluster.directory)} - before:  # noqa: ASYNC110  it tells nobody
            await anyio.sleep(0.2)
    left = sorted({*found(cluster.directory)} - before)
    tell("\n".join(["left of them:", *left] if left else ["nothing is left of them"]) + "\n")
    assert left == []


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--kept", type=Path, default=Path("chaos-kept"))
    given = parser.parse_args()
    anyio.run(lambda: play(given.rounds, seed=given.seed, tasks=given.tasks, kept=given.kept))
