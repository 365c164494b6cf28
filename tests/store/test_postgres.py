"""The store `postgres` between machines: leases, news, lost connections, and addresses that nobody is shown."""

import re
import socket
import time
from contextlib import contextmanager

import anyio
import psycopg
import pytest
from postgres_server import PostgresStores

from ohm_postgres import opening, reader
from ohm_postgres.link import Address
from ohm_subagents._store.following import Watch
from ohm_subagents.contract import AnswerAwaited, AnswerGiven, Approve, Cancelled, Request, RunEnded, TextDelta, apply
from ohm_subagents.store import CommandState, Consumer, RetentionPolicy, SentCommand, caller_from_threads

pytestmark = pytest.mark.anyio
EVERYTHING = Consumer(name="all")


@pytest.fixture
def stores(database):
    return database


@pytest.fixture
def anyio_backend():
    return "asyncio"


def asked(stores, statement, *values):
    with psycopg.connect(stores.url, autocommit=True) as connection:
        done = connection.execute(statement, values)
        return done.fetchall() if done.description else []


def move_away(stores, *, lease="30 seconds"):
    """Let all who are at work be on another machine, with so much of their lease left."""
    asked(stores, f"UPDATE ohm_owners SET boot = 'elsewhere', lease_until = clock_timestamp() + interval '{lease}'")


# Addresses


async def test_the_lines_of_a_failed_connection_are_told_as_one():
    why = OSError("All failures were:\n- port 1: Connection refused\n\tIs the server running?\n- port 2: no route")
    told = "All failures were: port 1: Connection refused; Is the server running?; port 2: no route"
    assert Address("postgresql://u@/d").told(why) == told


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (
            "",
            "OHM_POSTGRES_URL is not set; set it to the address of a database, such as postgresql://user@host/database",
        ),
        (
            "host=x top-secret",
            "OHM_POSTGRES_URL is no address of PostgreSQL; write it as postgresql://user@host/database",
        ),
        (
            "postgresql://u:top-secret@/d?host=/nowhere",
            "the registry of tasks in 'postgresql:///nowhere:5432/d' cannot",
        ),
    ],
)
async def test_without_a_database_tasks_are_kept_in_memory_and_the_reason_shows_no_password(
    tmp_path, url, told, monkeypatch
):
    monkeypatch.setattr(opening, "PATIENCE_S", 0)
    stores = PostgresStores(tmp_path, url)
    async with stores.opened() as store:
        stores.hand(store).settled("task_1")
        [diagnostic] = store.diagnostics
    assert diagnostic.message.startswith(f"Tasks are kept in memory only: {told}")
    assert "top-secret" not in str(diagnostic)


@pytest.mark.slow
async def test_the_place_of_a_store_shows_no_password(stores):
    async with stores.opened() as store:
        assert store.place.startswith("postgresql:///tmp/")
        assert "top-secret" not in store.place


@pytest.mark.slow
async def test_a_registry_of_a_later_version_is_left_alone(stores):
    async with stores.opened() as store:
        stores.hand(store).settled("task_1")
    asked(stores, "UPDATE ohm_version SET version = 99")
    async with stores.opened() as store:
        assert "it has version 99, and this version of ohm-postgres knows 2" in store.diagnostics[0].message


async def test_a_reader_makes_nothing(stores):
    async with stores.opened_by(RetentionPolicy(), is_reader=True) as store:
        assert (store.count(), [*store.tasks()]) == (0, [])
    assert asked(stores, "SELECT to_regclass('ohm_version')") == [(None,)]


# Machines


async def test_ids_of_tasks_never_collide(stores):
    async with stores.opened() as one, stores.opened() as other:
        assert {one.first_sequence, other.first_sequence} == {1, 1_000_001}
    async with stores.opened() as later:
        assert later.first_sequence == 2_000_001


async def test_a_task_of_another_machine_is_left_alone_until_its_lease_is_over(stores):
    async with stores.opened() as theirs:
        stores.hand(theirs).started("task_1", TextDelta(text="so far"))
        await theirs.flush()
        move_away(stores)
        async with stores.opened() as store:
            assert store.is_foreign("task_1")
            assert (store.get("task_1").ok_value.status, store.owner("task_1")) == ("running", "elsewhere")
            move_away(stores, lease="-2 days")
            assert (store.is_foreign("task_1"), store.owner("task_1")) == (False, "no process")
            assert store.get("task_1").ok_value.status == "failed"
            await store.flush()
        async with stores.opened() as store:
            assert (store.get("task_1").ok_value.text, store.diagnostics) == ("so far", ())
        stores.hand(theirs).tell(theirs.get("task_1").ok_value, TextDelta(text=" and further"))
        await theirs.flush()
        assert "belongs to another process now" in theirs.diagnostics[0].message


async def test_nobody_is_dead_because_the_server_was_down_for_longer_than_a_lease(server, stores):
    async with stores.opened() as theirs, stores.opened() as store:
        stores.hand(theirs).started("task_1")
        await theirs.flush()
        move_away(stores, lease="-1 seconds")
        server.stop()
        server.start()
        assert store.is_foreign("task_1")
        assert store.get("task_1").ok_value.status == "running"


async def test_what_settles_anywhere_wakes_who_follows(stores):
    news = anyio.Event()

    def wake():
        news.set()

    async with stores.opened() as one, stores.opened() as other:
        call_soon = caller_from_threads()
        one.outbox.register(EVERYTHING)
        with one.outbox.follow(lambda: call_soon(wake)):
            stores.hand(other).settled("task_1")
            await other.flush()
            with anyio.fail_after(10):
                while not one.outbox.pending(EVERYTHING, after=0, limit=9):
                    await news.wait()
                    news = anyio.Event()
        assert one.outbox.look_s is None


async def test_who_waits_for_tasks_is_told_that_one_asks(stores):
    async with stores.opened() as one, stores.opened() as other:
        hand = stores.hand(other)
        task = hand.started("task_1")
        await other.flush()
        asked = AnswerAwaited(
            request=Request(id="req_1", task_id=task.id, session_id="s", path=("task_1",), profile="finder")
        )
        with Watch(one.outbox) as watch, anyio.fail_after(10):
            other.save(apply(task, asked, at_ms=task.updated_ms), asked)
            await other.flush()
            while not one.get(task.id).unwrap().requests:
                await watch.news()


async def test_who_waits_for_news_is_told_of_a_task_whose_process_has_died(stores, monkeypatch):
    from ohm_postgres import writer

    monkeypatch.setattr(writer, "HEARTBEAT_S", 0.05)
    async with stores.opened() as dead, stores.opened() as store:
        call_soon, found = caller_from_threads(), anyio.Event()

        def look():
            if store.outbox.pending(EVERYTHING, after=0, limit=9):
                found.set()

        store.outbox.register(EVERYTHING)
        stores.hand(dead).started("task_1")
        await dead.flush()
        asked(stores, "UPDATE ohm_owners SET started = 'long ago' WHERE id = %s", dead._owner.id)
        with store.outbox.follow(lambda: call_soon(look)), anyio.fail_after(10):
            await found.wait()
        [entry] = store.outbox.pending(EVERYTHING, after=0, limit=9)
        assert (entry.task.id, entry.task.status) == ("task_1", "failed")


async def test_of_two_that_take_over_one_task_the_first_has_it_and_the_other_never(stores):
    async with stores.opened() as dead, stores.opened() as first, stores.opened() as second:
        task = stores.hand(dead).started("task_1")
        request = Request(id="req_1", task_id=task.id, session_id=task.session_id, path=(task.id,), profile="f")
        stores.hand(dead).tell(task, AnswerAwaited(request=request))
        await dead.flush()
        asked(stores, "UPDATE ohm_owners SET started = 'long ago' WHERE id = %s", dead._owner.id)
        read = [store.get("task_1").ok_value for store in (first, second)]
        assert await adopted(first, read[0])
        assert not await adopted(second, read[1])
        assert second.get("task_1").ok_value.requests == ()


async def adopted(store, task):
    given = AnswerGiven(request_id=task.requests[0].id, answer=Approve(), by="program")
    after = task
    for event in (events := (given, RunEnded(outcome=Cancelled(reason="died"), output=""))):
        after = apply(after, event, at_ms=task.updated_ms)
    return await store.requests.adopt(task, after, events)


async def test_who_runs_a_task_is_told_of_a_command_and_who_sent_it_of_the_reply(stores):
    async with stores.opened() as store, stores.opened() as sender:
        stores.hand(store).started("task_1")
        await store.flush()
        with Watch(store.control) as here, Watch(sender.control) as there, anyio.fail_after(10):
            for each in (here, there):
                await each.news()  # each looks once when it begins to listen
            sender.control.send(SentCommand(id="c1", task_id="task_1", command="{}"))
            await here.news()
            [sent] = store.control.received()
            store.control.take(sent.id)
            store.control.reply(sent.id, "done")
            await there.news()
        assert sender.control.state("c1") == CommandState(status="answered", reply="done")


# Connections


def texts(history):
    return [one.event.text for one in history if isinstance(one.event, TextDelta)]


async def test_a_server_that_accepts_and_never_answers_holds_up_nobody(stores, tmp_path, monkeypatch):
    from ohm_postgres import reading_thread

    monkeypatch.setattr(reading_thread, "ANSWER_S", 0.1)
    async with stores.opened() as store:
        task = stores.hand(store).started("task_1")
        await store.flush()
        with silent_server(tmp_path) as address, monkeypatch.context() as elsewhere:
            store._reader._link.drop()
            elsewhere.setattr(store._reader._link, "address", address)
            begun = time.monotonic()
            assert store.get("task_2").err_value.code == "unknown_task_id"
            monkeypatch.setattr(reader, "_RETRY_S", 0)
            assert [store.get("task_2").err_value.code for _ in range(50)] == ["unknown_task_id"] * 50
            assert time.monotonic() - begun < 2
            assert store.get("task_1").ok_value is task
            assert "it has not answered for" in store.diagnostics[-1].message
        assert (await store.history(task))[-1].event.kind == "run_started"


@contextmanager
def silent_server(directory):
    """The address of a server that takes connections and says nothing; at the end it hangs up."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{directory}/.s.PGSQL.5432")
        listener.listen()
        yield Address(f"postgresql://u@/d?host={directory}")


async def test_a_server_that_starts_at_the_same_time_is_waited_for(server, stores, monkeypatch):
    monkeypatch.setattr(opening, "RETRY_S", 0.05)
    server.stop()
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, server.start)
        async with stores.opened() as store:
            stores.hand(store).settled("task_1")
            await store.flush()
            [told] = store.diagnostics
    assert re.search(r"It took \d+ attempts to reach the database: .* cannot be used, connection", told.message)
    async with stores.opened() as store:
        assert store.get("task_1").ok_value.status == "succeeded"


async def test_a_server_that_never_comes_is_asked_for_some_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "RETRY_S", 0.01)
    monkeypatch.setattr(opening, "PATIENCE_S", 0.05)
    async with PostgresStores(tmp_path, "postgresql://u@/d?host=/nowhere").opened() as store:
        [told] = store.diagnostics
    assert re.search(r"\(\d+ attempts in 0 s\)", told.message)


async def test_a_database_that_does_not_exist_is_told_at_once(server, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "RETRY_S", anyio.sleep_forever)  # never asked
    url = server.url.replace("/postgres?", "/nowhere?")
    async with PostgresStores(tmp_path, url).opened() as store:
        assert 'database "nowhere" does not exist' in store.diagnostics[0].message


async def test_a_server_that_restarts_costs_nothing(server, stores):
    async with stores.opened() as store:
        hand = stores.hand(store)
        task = hand.started("task_1", TextDelta(text="one"))
        await store.flush()
        server.stop()
        try:
            task = hand.tell(task, TextDelta(text="two"))
            await store.flush()
            assert store.diagnostics[-1].message.startswith("Tasks could not be written and are kept in memory until")
            assert store.get("task_1").ok_value is task
            assert [one.id for one in store.tasks()] == ["task_1"]
            assert texts(await store.history(task)) == ["one", "two"]
            hand.settled("task_2")
        finally:
            server.start()
        task = hand.tell(task, TextDelta(text="three"))
        await store.flush()
        assert texts(await store.history(task)) == ["one", "two", "three"]
        assert not any("could not be written" in one.message for one in store.diagnostics)
    async with stores.opened() as store:
        assert store.get("task_2").ok_value.status == "succeeded"


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_batch_whose_answer_is_lost_is_written_once(stores, monkeypatch, is_written):
    real, lost = psycopg.Connection.transaction, []

    @contextmanager
    def transaction(self):
        with real(self, force_rollback=not is_written and not lost):
            yield
        if not lost:
            lost.append(self)
            self.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    async with stores.opened() as store:
        hand = stores.hand(store)
        task = hand.started("task_1", TextDelta(text="one"))
        await store.flush()
        monkeypatch.setattr(psycopg.Connection, "transaction", transaction)
        task = hand.tell(task, TextDelta(text="two"))
        await store.flush()
        assert len(lost) == 1
        task = hand.tell(task, TextDelta(text="three"))
        await store.flush()
        assert texts(await store.history(task)) == ["one", "two", "three"]
        assert store.diagnostics == ()


async def test_while_nothing_can_be_written_memory_has_a_bound_and_no_outcome_is_lost(stores, monkeypatch):
    from ohm_postgres import backlog

    monkeypatch.setattr(backlog, "MOST_BYTES", 200)
    async with stores.opened() as store:
        hand = stores.hand(store)
        task = hand.started("task_1")
        await store.flush()
        with monkeypatch.context() as broken:
            broken.setattr(type(store._writer._link), "connection", property(unreachable))
            for number in range(20):
                task = hand.tell(task, TextDelta(text=f"{number} "))
                await store.flush()
        assert any("only the outcome is kept" in one.message for one in store.diagnostics)
    async with stores.opened() as store:
        assert store.get("task_1").ok_value.text == task.text


def unreachable(_link):
    raise psycopg.OperationalError("no route to host")
