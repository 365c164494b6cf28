"""A registry that is damaged: a row costs itself, a page the rows on it, and nobody is told less than is lost."""

import json
import random
import sqlite3

import pytest
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import Checkpointed, Ok, RunEnded, Succeeded, TaskSettled, TextDelta
from ohm_subagents.store import TaskQuery
from ohm_subagents.stores.sqlite import opening, salvage

pytestmark = pytest.mark.anyio
FILE = "ohm.subagents.tasks.sqlite3"
COUNT = 40
DEAD = "UPDATE owners SET started = 'long ago'"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def registry(tmp_path, clock):
    return lambda directory=tmp_path: opened("sqlite", directory, clock)


def changed(directory, *statements):
    connection = sqlite3.connect(directory / FILE)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def everything_told(store):
    return " ".join(each.message for each in store.diagnostics)


LINES = "UPDATE events SET lines = {} WHERE task = (SELECT seq FROM tasks WHERE id = 'task_1')"
DAMAGE = {
    "the log": LINES.format("x'7b7d'"),
    "a log that is no text": LINES.format("x'fffe00'"),
    "a log of another type": LINES.format("7"),
    "a letter of the answer": LINES.format("CAST(replace(CAST(lines AS TEXT), 'done', 'dome') AS BLOB)"),
    "a part of the log": "UPDATE events SET n = 2 WHERE task = (SELECT seq FROM tasks WHERE id = 'task_1')",
    "all of the log": "DELETE FROM events WHERE task = (SELECT seq FROM tasks WHERE id = 'task_1')",
    "status": "UPDATE tasks SET status = 'runnimg' WHERE id = 'task_1'",
    "end": "UPDATE tasks SET ended_ms = ended_ms + 1024 WHERE id = 'task_1'",
    "session": "UPDATE tasks SET session_id = x'c3' WHERE id = 'task_1'",
    "profile": "UPDATE tasks SET profile = 'fimder' WHERE id = 'task_1'",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_row_is_put_aside_and_told_and_its_neighbours_go_on(registry, clock, tmp_path, damage):
    async with registry() as store:
        for number in range(3):
            Hand(store, clock).settled(f"task_{number}", TextDelta(text="so far"))
    changed(tmp_path, DAMAGE[damage])
    aside = tmp_path / "ohm.subagents.tasks" / "task_1.damaged.json"
    async with registry() as store:
        assert [task.id for task in store.tasks()] == ["task_0", "task_2"]
        error = store.get("task_1").err_value
        assert str(error.code) == "unknown_task_id"
        assert "cannot be read" in error.message
        assert str(aside) in error.message
        assert store.get("task_0").ok_value.output == "done"
        (told,) = store.diagnostics
        assert "'task_1'" in told.message
        assert str(aside) in told.message
        Hand(store, clock).settled("task_3")
    kept = json.loads(aside.read_text())
    assert kept["id"] == "task_1"
    assert (aside.stat().st_mode & 0o777) == 0o600
    async with registry() as store:
        assert store.diagnostics == ()
        assert store.count() == 3
        assert [found.ok_value.id for found in store.list(TaskQuery())] == ["task_3", "task_2", "task_0"]
        assert str(aside) in store.get("task_1").err_value.message
        Hand(store, clock).settled("task_1", output="anew")
    async with registry() as store:
        assert store.get("task_1").ok_value.output == "anew"


async def test_a_damaged_end_does_not_let_a_task_expire(registry, clock, tmp_path):
    async with registry() as store:
        Hand(store, clock).settled("task_1")
    changed(tmp_path, "UPDATE tasks SET ended_ms = ended_ms - 86400000 WHERE id = 'task_1'")
    async with registry() as store:
        Hand(store, clock).settled("task_2")
        await store.flush()
    async with registry() as store:
        assert "cannot be read" in store.get("task_1").err_value.message


async def test_lists_and_sessions_meet_the_damaged_row_too(registry, clock, tmp_path):
    for look in ("list", "session"):
        async with registry() as store:
            for number in range(3):
                Hand(store, clock).settled(f"{look}_{number}", session=look)
        changed(tmp_path, f"UPDATE tasks SET status = x'00' WHERE id = '{look}_1'")
        async with registry() as store:
            listed = [*store.list(TaskQuery())] if look == "list" else [Ok(task) for task in store.session(look)]
            assert [each.ok_value.id for each in listed if isinstance(each, Ok)][:2] in (
                [f"{look}_2", f"{look}_0"],
                [f"{look}_0", f"{look}_2"],
            )
            assert f"'{look}_1'" in everything_told(store)


async def test_a_damaged_row_of_a_dead_owner_does_not_keep_anybody_out(registry, clock, tmp_path):
    async with registry() as store:
        Hand(store, clock).started("task_0")
        Hand(store, clock).started("task_1")
        await store.flush()
        changed(tmp_path, DEAD, "UPDATE events SET lines = x'00' WHERE task = 1")
        async with registry() as other:
            assert [(task.id, task.status) for task in other.tasks()] == [("task_1", "failed")]
            assert "Task 'task_0' cannot be read" in everything_told(other)


async def test_a_damaged_row_that_a_living_process_works_on_is_left_to_it(registry, clock, tmp_path):
    async with registry() as store:
        task = Hand(store, clock).started("task_1")
        await store.flush()
        changed(tmp_path, "UPDATE tasks SET status = x'00'")
        async with registry() as other:
            assert "cannot be read" in other.get("task_1").err_value.message
        assert not (tmp_path / "ohm.subagents.tasks" / "task_1.damaged.json").exists()
        outcome = Succeeded()
        Hand(store, clock).tell(task, RunEnded(outcome=outcome, output="done"), TaskSettled(outcome=outcome))
        await store.flush()
        async with registry() as other:
            assert other.get("task_1").ok_value.output == "done"


async def test_a_row_that_cannot_be_put_aside_stays_where_it_is(registry, clock, tmp_path):
    async with registry() as store:
        Hand(store, clock).settled("task_1")
    changed(tmp_path, "UPDATE events SET lines = x'00'")
    (tmp_path / "ohm.subagents.tasks").mkdir(exist_ok=True)
    (tmp_path / "ohm.subagents.tasks" / "task_1.damaged.json").mkdir()
    async with registry() as store:
        assert "cannot be read" in store.get("task_1").err_value.message
        assert "It stays there" in everything_told(store)
        assert store.count() == 1


async def test_a_damaged_conversation_costs_itself(registry, clock, tmp_path):
    async with registry() as store:
        Hand(store, clock).settled("task_1", Checkpointed(state='{"messages": ["ja"]}'))
    changed(tmp_path, "UPDATE checkpoints SET state = replace(state, 'ja', 'na')")
    async with registry() as store:
        task = store.get("task_1").ok_value
        assert (task.output, task.activity.checkpoint) == ("done", None)
        assert "The conversation of task 'task_1' is damaged" in everything_told(store)


# Pages


def filled(directory, clock):
    """A registry that fills many pages, closed."""

    async def fill():
        async with opened("sqlite", directory, clock) as store:
            for number in range(COUNT):
                Hand(store, clock).settled(f"task_{number:02}", session=f"session_{number % 3}", output="x" * 900)

    return fill()


def flipped_bit(content, page, chosen):
    content[max(100, 4096 * page + chosen.randrange(4096))] ^= 1 << chosen.randrange(8)


def flipped_bytes(content, page, chosen):
    start = max(100, 4096 * page + chosen.randrange(4096 - 64))
    content[start : start + 64] = bytes(each ^ 0xFF for each in content[start : start + 64])


def zeroed_page(content, page, _chosen):
    content[4096 * page : 4096 * (page + 1)] = bytes(4096)


@pytest.fixture(scope="module", params=["asyncio"])
def anyio_backend(request):
    return request.param


@pytest.mark.sample(3)
@pytest.mark.parametrize(("files", "lost"), [(12, 1 / 3), pytest.param(None, 1 / 8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("damage", [flipped_bit, flipped_bytes, zeroed_page])
async def test_wherever_a_file_is_damaged_the_rest_of_it_is_there_and_what_is_lost_is_told(
    registry, clock, tmp_path, damage, files, lost
):
    """Damage some pages, or each page once; the schema, whose loss costs all, takes four of them."""
    await filled(tmp_path / "good", clock)
    async with registry(tmp_path / "good") as store:
        before = {task.id: task for task in store.tasks()}
    good = (tmp_path / "good" / FILE).read_bytes()
    pages = len(good) // 4096
    step, files = (1, pages) if files is None else (3, files)
    missing, chosen = 0, random.Random(damage.__name__)
    for number in range(files):
        directory = tmp_path / str(number)
        directory.mkdir()
        content = bytearray(good)
        damage(content, number * step % pages, chosen)
        (directory / FILE).write_bytes(content)
        async with registry(directory) as store:
            listed = {task.id: task for task in store.tasks()}
            assert all(before[task_id] == task for task_id, task in listed.items())
            for task_id, task in before.items():
                match store.get(task_id):
                    case Ok(again):
                        assert again == task
                        assert task_id in listed
                    case _:
                        missing += 1
                        assert task_id not in listed
                        assert "cannot be" in everything_told(store) or "corrupt-" in everything_told(store)
            Hand(store, clock).settled("task_new")
            await store.flush()
            assert len([*store.list(TaskQuery())]) >= len(listed)
            assert store.place is not None
        async with registry(directory) as store:
            assert store.get("task_new").ok_value.output == "done"
            assert {*listed} <= {task.id for task in store.tasks()}
    assert missing <= files * COUNT * lost


async def test_what_only_an_index_has_lost_is_found_row_by_row(registry, clock, tmp_path, monkeypatch):
    async with registry() as store:
        for number in range(3):
            Hand(store, clock).settled(f"task_{number}", TextDelta(text="said"))
    root = "(SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_empty_1')"
    changed(
        tmp_path,
        "CREATE TABLE empty (task, n, UNIQUE (task, n))",
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET rootpage = {root} WHERE name = 'sqlite_autoindex_events_1'",
    )
    monkeypatch.setattr(salvage, "_CHECKED", 0)  # as if the file were large
    for _ in range(2):
        async with registry() as store:
            for number in range(3):
                task = store.get(f"task_{number}").ok_value
                assert (task.output, task.text) == ("done", "said")
    assert [*tmp_path.glob("*.corrupt-*")]
    assert not [*tmp_path.glob("*/*.damaged.json")]


async def test_what_a_damaged_file_does_not_take_is_written_into_the_one_that_is_made_of_it(registry, clock, tmp_path):
    def fault_point(step):
        if step == "before commit" and is_damaged and not [*tmp_path.glob("*.corrupt-*")]:
            error = sqlite3.DatabaseError("database disk image is malformed")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error

    is_damaged = False
    async with opened("sqlite", tmp_path, clock, fault_point=fault_point) as store:
        Hand(store, clock).settled("task_old")
        await store.flush()
        is_damaged = True
        for number in range(3):
            Hand(store, clock).settled(f"task_new_{number}", TextDelta(text="said"))
            await store.flush()
    assert "corrupt-" in everything_told(store)
    assert "never written" not in everything_told(store)
    async with registry() as store:
        assert store.get("task_old").ok_value.output == "done"
        for number in range(3):
            task = store.get(f"task_new_{number}").ok_value
            assert (task.output, task.text) == ("done", "said")


@pytest.mark.parametrize("message", ["malformed JSON", "cannot commit - no transaction is active"])
async def test_an_error_of_a_statement_is_no_damage_while_the_tables_are_whole(registry, clock, tmp_path, message):
    def fault_point(step):
        if step == "before commit" and refuses:
            error = sqlite3.OperationalError(message)
            error.sqlite_errorcode = sqlite3.SQLITE_ERROR
            raise error

    refuses = False
    async with opened("sqlite", tmp_path, clock, fault_point=fault_point) as store:
        refuses = True
        Hand(store, clock).settled("task_1")
        await store.flush()
        assert message in everything_told(store)
        refuses = False
    async with registry() as store:
        assert store.get("task_1").ok_value.output == "done"
    assert not [path for path in tmp_path.iterdir() if "damaged" in path.name or "corrupt" in path.name]


async def test_a_reader_shows_what_it_can_of_a_damaged_file_and_leaves_it_to_the_next_that_runs_tasks(
    registry, clock, tmp_path
):
    await filled(tmp_path, clock)
    content = bytearray((tmp_path / FILE).read_bytes())
    page = content.index(b"task_20") // 4096
    content[page * 4096 : (page + 1) * 4096] = bytes(4096)
    (tmp_path / FILE).write_bytes(content)
    async with opened("sqlite", tmp_path, clock, is_reader=True) as store:
        shown = {task.id for task in store.tasks()}
    assert len(shown) > COUNT / 2
    assert not [*tmp_path.glob("*.corrupt-*")]
    async with registry() as store:
        assert shown <= {task.id for task in store.tasks()}
    assert [*tmp_path.glob("*.corrupt-*")]


async def test_a_reader_leaves_a_file_of_which_it_can_read_nothing_where_it_is(registry, clock, tmp_path):
    nothing = b"this is no database, whatever its name says" * 100
    (tmp_path / FILE).write_bytes(nothing)
    async with opened("sqlite", tmp_path, clock, is_reader=True) as store:
        assert everything_told(store) == (
            f"Tasks are kept in memory only: the registry of tasks in '{tmp_path}' cannot be used, it is damaged"
            " (file is not a database); the next program that runs a task there saves what can be read of it."
        )
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    assert (tmp_path / FILE).read_bytes() == nothing
    async with registry():
        assert [*tmp_path.glob("*.corrupt-*")]


SCHEMA_LOSS = {
    "a table": ["DROP TABLE counts", "DROP TABLE commands"],
    "the name of a column": ["ALTER TABLE tasks RENAME COLUMN listed TO lifted"],
    "the number of the version": ["PRAGMA user_version = 5"],
}


@pytest.mark.parametrize("loss", SCHEMA_LOSS)
async def test_a_file_without_a_part_of_its_tables_is_damaged_and_its_tasks_are_saved(registry, clock, tmp_path, loss):
    async with registry() as store:
        Hand(store, clock).settled("task_1")
    changed(tmp_path, *SCHEMA_LOSS[loss])
    for _ in range(2):  # it is found out while the file is open, or before
        async with registry() as store:
            assert store.get("task_1").ok_value.output == "done"
    assert [*tmp_path.glob("*.corrupt-*")]
    async with registry() as store:
        Hand(store, clock).settled("task_2")
        assert [task.id for task in store.tasks()] == ["task_1", "task_2"]
        assert store.diagnostics == ()


def full(connection):
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 1}")


def no_commit(connection):
    def permit(what, name, *_):
        return sqlite3.SQLITE_DENY if (what, name) == (sqlite3.SQLITE_TRANSACTION, "COMMIT") else sqlite3.SQLITE_OK

    connection.set_authorizer(permit)


def rolled_back(connection):
    connection.execute(
        "CREATE TEMP TRIGGER refused BEFORE INSERT ON owners BEGIN SELECT RAISE(ROLLBACK, 'no more'); END"
    )


def free(connection):
    connection.execute("PRAGMA max_page_count = 1000000")
    connection.execute("DROP TRIGGER IF EXISTS temp.refused")
    connection.set_authorizer(None)


@pytest.mark.parametrize("trouble", [full, no_commit, rolled_back])
async def test_what_could_not_be_written_into_the_new_file_is_not_told_as_kept(
    registry, clock, tmp_path, monkeypatch, trouble
):
    def copy_in_trouble(kept, connection, **options):
        trouble(connection)
        try:
            return salvage.copy_survivors(kept, connection, **options)
        finally:
            free(connection)

    await filled(tmp_path, clock)
    (tmp_path / f"{FILE}.damaged").touch()
    monkeypatch.setattr(opening, "copy_survivors", copy_in_trouble)
    async with registry() as store:
        (kept,) = tmp_path.glob(f"{FILE}.corrupt-*")
        (told,) = (each.message for each in store.diagnostics if "corrupt-" in each.message)
        assert told.startswith(f"Recovered corrupt task registry: {kept}. Kept no task, since the new registry could")
        assert [*store.tasks()] == []
        Hand(store, clock).settled("task_new")
    connection = sqlite3.connect(kept)
    assert connection.execute("SELECT count(*) FROM tasks").fetchone() == (COUNT,)
    connection.close()
    async with registry() as store:
        assert [task.id for task in store.tasks()] == ["task_new"]
