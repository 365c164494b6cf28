"""Reading the clock, and the memory, in a subject."""

import gc
import tracemalloc
from contextlib import contextmanager
from time import perf_counter


def repeating(work, times=1, *, parts=1, after=None):
    """A repeat: seconds for one part of `await work()`, over `times` of them in a row and `after()` at the end."""

    async def repeat():
        begun = perf_counter()
        for _ in range(times):
            await work()
        if after is not None:
            await after()
        return (perf_counter() - begun) / (times * parts)

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
