"""The page of `ohm ui` over real HTTP."""

import pytest
import ui_client
import ui_scene


@pytest.fixture
def anyio_backend():
    """The server takes real time, and asyncio."""
    return "asyncio"


@pytest.fixture
async def played(tmp_path):
    """A start with something of everything, and a client of its page: `ohm`, `ids`, `client`."""
    async with ui_scene.opened(tmp_path) as ohm:
        ids = await ui_scene.play(ohm)
        async with ui_client.client_of(ohm) as client:
            yield ohm, ids, client
