"""The laws of outboxes, for ours; and what an older file gets."""

import sqlite3
from contextlib import closing

import pytest
from outbox_laws import *  # noqa: F403  every law is a test here
from outbox_laws import EVERYTHING, pending, settled
from store_laws import Stores

pytestmark = pytest.mark.anyio
ALL, DURABLE = ("sqlite", "snapshot", "memory"), ("sqlite", "snapshot")


@pytest.fixture(params=ALL)
def stores(request, tmp_path):
    return Stores(request.param, tmp_path / "registry")


@pytest.fixture(params=DURABLE)
def durable(request, tmp_path):
    return Stores(request.param, tmp_path / "registry")


async def test_a_file_of_version_5_gets_an_outbox(tmp_path):
    stores = Stores("sqlite", tmp_path / "registry")
    async with stores.opened() as store:
        await settled(stores, store, "task_1")
        file = store.place
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "DROP TABLE acknowledged; DROP TABLE consumers; DROP TABLE outbox; DROP TABLE commands;"
            "PRAGMA user_version = 5;"
        )
    async with stores.opened() as store:
        store.outbox.register(EVERYTHING)
        await settled(stores, store, "task_2")
        assert (found_ids(store), pending(store)) == (["task_1", "task_2"], ["task_2"])
        assert store.diagnostics == ()


def found_ids(store):
    return [task.id for task in store.tasks()]
