"""Reading the clock, and the memory, in a subject."""

import gc
import tracemalloc
from contextlib import contextmanager
from statistics import quantiles
from time import perf_counter, process_time

CALLS = 10
"""So many calls in a row are one value of what takes some milliseconds: short turns, and many of them."""

BATCHES = 3
"""Of what takes so long and makes so many objects that a full collection of garbage falls into every other one."""


def percentile_99(seconds):
    return quantiles(seconds, n=100, method="inclusive")[98]


def repeating(work, times=1, *, parts=1, after=None):
    """A repeat: seconds for one part of `await work()`, over `times` of them in a row and `after()` at the end.

    By the wall, and of the processor, in all threads of this process.
    """

    async def repeat():
        begun, used = perf_counter(), process_time()
        for _ in range(times):
            await work()
        if after is not None:
            await after()
        wall, cpu = perf_counter() - begun, process_time() - used
        return {"wall": wall / (times * parts), "cpu": cpu / (times * parts)}

    return repeat


class Traced:
    """`bytes`: how much more memory was in use at the highest point than at the start."""

    bytes = 0


@contextmanager
def peak():
    """Trace the memory that Python itself allocates, and nothing else; costs time."""
    gc.collect()
    tracemalloc.start()
    traced = Traced()
    before, _ = tracemalloc.get_traced_memory()
    try:
        yield traced
        _, highest = tracemalloc.get_traced_memory()
        traced.bytes = highest - before
    finally:
        tracemalloc.stop()
