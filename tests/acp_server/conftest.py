"""The ACP library needs asyncio."""

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"
