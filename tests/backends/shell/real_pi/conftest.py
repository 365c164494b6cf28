"""A desk where a real `pi` works."""

import pytest
from advancing_loop import advancing
from pi_desk import Desk
from real_pi import NEWEST, OLD, installed


@pytest.fixture(params=[OLD, NEWEST])
def pi(request):
    """A real pi of each generation; a test of what changed in between names all three."""
    return installed(request.param)


@pytest.fixture
def anyio_backend(request):
    """Real time, which a test may move on. The newest runs on trio: both loops are shown at the cost of one."""
    version = request.node.callspec.params["pi"]
    return advancing("trio" if version == NEWEST else "asyncio")


@pytest.fixture
def desk(tmp_path, pi):
    return Desk(tmp_path, pi)
