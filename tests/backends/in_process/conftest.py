"""Makes the shared doubles importable: `from model_server import ModelServer`."""

import sys
from pathlib import Path

import pytest

SUPPORT = str(Path(__file__).parents[2] / "support")
if SUPPORT not in sys.path:
    sys.path.insert(0, SUPPORT)


@pytest.fixture
def anyio_backend() -> str:
    """pydantic-ai runs on asyncio only."""
    return "asyncio"
