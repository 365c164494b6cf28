import pydantic_ai
import pytest

pydantic_ai.BANNER_ENABLED = False


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # pydantic-ai runs on nothing else
