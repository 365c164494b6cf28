"""Of stores that share a file, each is told by the others of what it listens to, without looking."""

import anyio
import pytest

from ohm_subagents._store.following import Watch
from ohm_subagents.stores.sqlite.wakers import Told, Wakers

pytestmark = pytest.mark.anyio
NEWS = {
    "commands": Told(has_events=False, has_settled=False, commands_to={2}),
    "events": Told(has_events=True, has_settled=False, commands_to=set()),
    "settled": Told(has_events=False, has_settled=True, commands_to=set()),
}


@pytest.fixture
def anyio_backend():
    """In real time, in which a pipe tells."""
    return "asyncio"


@pytest.mark.parametrize("topic", NEWS)
async def test_another_store_is_told_of_each_topic(tmp_path, topic):
    tells, hears = (Wakers(tmp_path, owner=number, is_usable=True) for number in (1, 2))
    waker = next(one for one in hears.all() if one.topic == topic)
    with Watch(waker) as watch:
        assert waker.look_s is None
        for _ in range(3):
            tells.tell(NEWS[topic])
            with anyio.fail_after(60):
                await watch.news()
