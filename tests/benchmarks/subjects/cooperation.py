"""The cost of cooperation: results that are delivered, and models that are chosen from several."""

from contextlib import asynccontextmanager
from functools import partial

from stopwatch import repeating
from subjects.ours import opened, run

from ohm_subagents.contract import ErrorCode, OhmError
from ohm_subagents.testing import ScriptedBackend, Step

BURST = 100
FAILED = Step(error=OhmError(code=ErrorCode.PROVIDER_QUOTA_EXCEEDED, message="It is used up."))
MENU = {"fast": {"model": "acme/small", "fallback": ["acme/big", "other/spare"]}}


@asynccontextmanager
async def delivered(store="memory", consumers=0):
    """Seconds for one echo task of a burst, until each consumer has acknowledged its delivery."""
    async with opened(store=store, taskMaxEntries=BURST) as ohm:
        deliveries = [ohm.deliveries(f"consumer {number}") for number in range(consumers)]

        async def work():
            for _ in range(BURST):
                await run(ohm)
            for each in deliveries:
                for _ in range(BURST):
                    await (await anext(each)).ack()

        yield repeating(work, 2, parts=BURST, after=ohm.store.flush)


@asynccontextmanager
async def routed(model="acme/small", fails=False):
    """Seconds for one run on a model that is named outright, or on one of a menu; `fails`: on the second of them."""
    steps = [FAILED, Step(text="done")] * 50_000 if fails else ()
    backend = ScriptedBackend(*steps, default=None if fails else Step(text="done"))
    subagents = {"models": MENU, "model": model, "modelFallback": {"coolDownMs": 0}}
    async with opened(plugins=[backend], backend=backend.id, subagents=subagents) as ohm:
        yield repeating(partial(run, ohm), 200)
