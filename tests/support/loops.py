"""Tests that one event loop is enough for, or enough for most runs."""

import pytest

one_loop = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For the rows of a table that differ in data alone, beside a test of the same path on both loops."""

slow_on_trio = pytest.mark.parametrize(
    "anyio_backend", ["asyncio", pytest.param("trio", marks=pytest.mark.slow)], indirect=True
)
"""For what starts an expensive process, beside a test of the same path on both loops."""
