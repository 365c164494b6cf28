"""Makes the runner's modules importable."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest, virtual_time):
    """trio, whose clock jumps: recorded times are exact. The suite cases, which read files, say when it does."""
    if request.path.name.startswith("test_suites"):
        from golden_time import standing

        return "trio", {"clock": standing()}
    return virtual_time
