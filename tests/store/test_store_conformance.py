"""The laws of stores, for ours; and what their files promise."""

import shutil
import sqlite3
from dataclasses import replace

import pytest
from store_laws import *  # noqa: F403  every law is a test here
from store_laws import Stores, found

from ohm_subagents._store.opening import ohm_stores
from ohm_subagents.contract import TextDelta
from ohm_subagents.stores import snapshot, sqlite
from ohm_subagents.testing import DurableStoreConformance, StoreConformance

pytestmark = pytest.mark.anyio


@pytest.fixture(params=("sqlite", "snapshot", "memory"))
def stores(request, tmp_path):
    return Stores(request.param, tmp_path / "registry")


@pytest.fixture(params=("sqlite", "snapshot"))
def durable(request, tmp_path):
    return Stores(request.param, tmp_path / "registry")


class TestMemory(StoreConformance):
    @pytest.fixture
    def spec(self):
        [spec] = ohm_stores()
        return spec


class TestSqlite(DurableStoreConformance):
    @pytest.fixture
    def spec(self):
        [spec] = sqlite.ohm_stores()
        return spec

    @pytest.fixture
    def forsaken(self, tmp_path):
        """Copies the files as they are, and lets their owner be a process that is long gone."""

        def copied(stores):
            left = copy(stores, tmp_path)
            connection = sqlite3.connect(left.directory / "ohm.subagents.tasks.sqlite3")
            connection.execute("UPDATE owners SET started = 'long ago'")
            connection.commit()
            connection.close()
            return left

        return copied


class TestSnapshot(DurableStoreConformance):
    keeps_every_event = False  # the documented file holds the newest and nothing else

    @pytest.fixture
    def spec(self):
        [spec] = snapshot.ohm_stores()
        return spec

    @pytest.fixture
    def forsaken(self, tmp_path):
        return lambda stores: copy(stores, tmp_path)


def copy(stores, directory):
    left = replace(stores, directory=directory / "left")
    shutil.copytree(stores.directory, left.directory)
    return left


async def test_a_directory_that_cannot_be_used_costs_the_durability_only(durable, tmp_path):
    durable.directory = tmp_path / "file" / "registry"
    (tmp_path / "file").write_text("in the way")
    async with durable.opened() as store:
        durable.hand(store).settled("task_1")
        await store.flush()
        assert found(store, "task_1") == ["succeeded"]
        (told,) = store.diagnostics
        assert told.message.startswith("Tasks are kept in memory only: ")
        assert store.place is None


async def test_the_files_are_the_owners_alone(durable):
    async with durable.opened() as store:
        durable.hand(store).settled("task_1", TextDelta(text="secret"))
        await store.flush()
        files = [path for path in durable.directory.rglob("*") if path.is_file()]
        assert files
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
        assert durable.directory.stat().st_mode & 0o777 == 0o700
