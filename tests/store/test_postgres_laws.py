"""The laws of stores, their outboxes and their commands, for the store `postgres`."""

import pytest
from outbox_laws import *  # noqa: F403  every law is a test here
from store_laws import *  # noqa: F403  as above

from ohm_postgres import ohm_stores
from ohm_postgres.link import VARIABLE
from ohm_subagents.testing import DurableStoreConformance

pytestmark = pytest.mark.anyio
LOOPS = ["asyncio", pytest.param("trio", marks=pytest.mark.slow)]


@pytest.fixture
def stores(database):
    return database


@pytest.fixture(params=LOOPS)
def anyio_backend(request):
    return request.param


@pytest.fixture
def durable(stores):
    return stores


class TestPostgres(DurableStoreConformance):
    @pytest.fixture(params=LOOPS)
    def anyio_backend(self, request):
        return request.param

    @pytest.fixture
    def spec(self):
        [spec] = ohm_stores()
        return spec

    @pytest.fixture
    def env(self, server):
        return {VARIABLE: server.schema()}

    @pytest.fixture
    def forsaken(self):
        """Nothing has to be done: who has left an owner is as good as dead."""
        return lambda stores: stores
