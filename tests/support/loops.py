"""Tests that one event loop is enough for."""

import pytest

one_loop = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For the rows of a table that differ in data alone, beside a test of the same path on both loops."""
