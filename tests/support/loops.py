"""Tests that one event loop is enough for, or enough for most runs."""

import pytest

one_loop = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For the rows of a table that differ in data alone, beside a test of the same path on both loops."""

slow_on_trio = pytest.mark.parametrize(
    "anyio_backend", ["asyncio", pytest.param("trio", marks=pytest.mark.slow)], indirect=True
)
"""For what starts an expensive process, beside a test of the same path on both loops."""

real_clocks = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
"""Both loops in real time, for tests with real sockets: a clock that jumps when no task can go on sees no socket, and
jumps past the deadline of a run before its answer has come."""

real_clocks_slow_on_trio = pytest.mark.parametrize(
    "anyio_backend", ["asyncio", pytest.param("trio", marks=pytest.mark.slow)]
)
"""The same, beside a test of the same path that is quick on both."""
