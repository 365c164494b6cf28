"""The directory and the session of a task, when its item says so."""

from pathlib import Path

import anyio
import pytest
from acting import ActingBackend
from surface import item, mounted

from ohm_subagents import ErrorCode
from ohm_subagents.contract import OhmError, Send, Start
from ohm_subagents.plugin import hookimpl
from ohm_subagents.testing import Step

pytestmark = pytest.mark.anyio

SESSION = "a3f7b9c2d1e8f4a1"
RESUME = {"subagents": {"sendToFinished": "resume"}}


async def started(surface, *items, **options):
    reply = await surface.engine.execute(Start(items=items, **options))
    return [one.task if one.kind == "accepted" else one.error for one in reply.items]


@pytest.mark.parametrize(
    ("cwd", "message"),
    [
        ("src", "cwd must be an absolute path"),
        ("../src", "cwd must be an absolute path"),
        ("", "cwd must be an absolute path"),
        ("~/src", "cwd must be an absolute path"),
        ("/srv/a/../b", "cwd must not contain '..' path segments"),
        ("/..", "cwd must not contain '..' path segments"),
    ],
)
async def test_a_directory_that_is_not_plainly_one_is_refused_in_fixed_words(cwd, message):
    async with mounted() as surface:
        [error] = await started(surface, item(cwd=Path(cwd)))

    assert (error.code, error.message, surface.backend.calls) == (ErrorCode.CWD_INVALID, message, [])


async def test_two_dots_within_a_name_are_a_name(tmp_path):
    place = tmp_path / "a..b"
    async with mounted() as surface:
        place.mkdir()
        await started(surface, item(cwd=place))

    assert [request.cwd for request in surface.backend.calls] == [place]


async def test_a_refusal_of_the_suite_comes_before_the_directory():
    gone = OhmError(code=ErrorCode.SESSION_NOT_FOUND, message="Gone.")
    async with mounted() as surface:
        assert await started(surface, item(cwd=Path("src"), refusal=gone)) == [gone]


async def test_a_task_works_in_its_own_directory_and_so_do_plugins_and_follow_ups_see_it(tmp_path):
    asked, gate = [], anyio.Event()

    class Asked:
        @hookimpl
        def ohm_permission(self, request):
            asked.append(request.cwd)

    async with (
        mounted(Step(text="a", gate=gate), "b", "c", plugins=[Asked()], cwd="/srv") as surface,
        anyio.create_task_group() as group,
    ):
        group.start_soon(started, surface, item(cwd=tmp_path))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(surface.engine.execute, Send(id="task_1", prompt="and?"))
        await anyio.wait_all_tasks_blocked()
        gate.set()
        await anyio.wait_all_tasks_blocked()
        await started(surface, item())

    places = [request.cwd for request in surface.backend.calls]
    assert places == asked == [tmp_path, tmp_path, Path("/srv")]
    told = [
        f"Working directory: {place}" in request.instructions
        for place, request in zip(places, surface.backend.calls, strict=True)
    ]
    assert told == [True] * 3


async def test_a_directory_that_cannot_be_read_is_refused_by_backends_that_work_on_files(tmp_path):
    backend = ActingBackend(None)
    async with mounted(backend=backend, cwd=tmp_path) as surface:
        [error] = await started(surface, item(cwd=tmp_path / "absent"))

    assert error.code == ErrorCode.CWD_UNREADABLE
    assert f"{tmp_path / 'absent'}" in error.message


async def test_tasks_share_the_session_that_they_name(tmp_path):
    async with mounted("a", "b", "c") as surface:
        await started(surface, item("first", session_id=SESSION))
        await started(surface, item("other"))
        await started(surface, item("second", session_id=SESSION))
        kept = surface.ohm.store.session(SESSION)

    assert [task.assignment.prompt for task in kept] == ["first", "second"]
    assert [request.session_id for request in surface.backend.calls] == [SESSION, "session_2", SESSION]
    assert surface.backend.calls[2].history == (), "what was said before is the surface's to tell"


async def test_a_session_takes_one_task_at_a_time():
    gate = anyio.Event()
    async with mounted(Step(text="a", gate=gate), "b") as surface, anyio.create_task_group() as group:
        group.start_soon(started, surface, item("first", session_id=SESSION))
        await anyio.wait_all_tasks_blocked()
        [error] = await started(surface, item("meanwhile", session_id=SESSION))
        gate.set()
        await anyio.wait_all_tasks_blocked()
        [task] = await started(surface, item("later", session_id=SESSION))

    assert error.code == ErrorCode.SESSION_BUSY
    assert error.message.startswith(f'Cannot resume: session "{SESSION}" is still running.')
    assert task.status == "succeeded"


async def test_nor_does_one_call_put_two_tasks_into_a_session():
    async with mounted("a") as surface:
        task, error = await started(surface, item(session_id=SESSION), item(session_id=SESSION))

    assert (task.status, error.code) == ("succeeded", ErrorCode.SESSION_BUSY)


async def test_a_settled_task_is_not_continued_while_its_session_is_at_work():
    gate = anyio.Event()
    async with mounted("a", Step(text="b", gate=gate), "c", config=RESUME) as surface:
        await started(surface, item(session_id=SESSION))
        async with anyio.create_task_group() as group:
            group.start_soon(started, surface, item(session_id=SESSION))
            await anyio.wait_all_tasks_blocked()
            refused = await surface.engine.execute(Send(id="task_1", prompt="and?"))
            gate.set()
        sent = await surface.engine.execute(Send(id="task_1", prompt="and now?"))

    assert (refused.op, refused.error.code) == ("send", ErrorCode.SESSION_BUSY)
    assert (sent.task.session_id, sent.run.output) == (SESSION, "c")
