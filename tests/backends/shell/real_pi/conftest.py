"""A desk where a real `pi` works."""

import pytest
from pi_desk import Desk
from real_pi import NEWEST, OLD, installed


@pytest.fixture(params=[OLD, NEWEST])
def pi(request):
    """A real pi of each generation; a test of what changed in between names all three."""
    return installed(request.param)


@pytest.fixture
def anyio_backend(request):
    """Real processes take real time. The newest runs on trio, so that both loops are shown at the cost of one."""
    version = request.node.callspec.params["pi"]
    return "trio" if version == NEWEST else "asyncio"


@pytest.fixture
def desk(tmp_path, pi):
    return Desk(tmp_path, pi)
