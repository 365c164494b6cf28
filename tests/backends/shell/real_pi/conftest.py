"""A desk where real `pi`s work, one for each kind of `pi`."""

import pytest
from pi_desk import Desk
from real_pi import NEW, NEWEST, OLD, installed


@pytest.fixture(params=[OLD, NEW, NEWEST])
def pi(request):
    """A real pi of each kind: the last with the old stream, the first with the new one, and the newest."""
    return installed(request.param)


@pytest.fixture
def anyio_backend(request):
    """Real processes take real time. The newest runs on trio, so that both loops are shown at the cost of one."""
    version = request.node.callspec.params["pi"]
    return "trio" if version == NEWEST else "asyncio"


@pytest.fixture
def desk(tmp_path, pi):
    return Desk(tmp_path, pi)
