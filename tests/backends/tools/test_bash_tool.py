"""`bash`: real processes, real grandchildren."""

import os
import sys
from pathlib import Path

import anyio
import pytest
from advancing_loop import advance
from anyio import to_thread
from leaks import MARKER

pytestmark = pytest.mark.anyio

# A grandchild that says it is there and holds the pipe open for as long as it lives.
HOLDER = "(trap '' TERM; exec 3>pipe; echo up >&3; exec sleep 300) &"
# The same; the command goes on when the grandchild is there.
HELD = "mkfifo ready; (exec 3>pipe; echo up >&3; echo > ready; exec sleep 300) & read line < ready"


class Watch:
    """The reading end of a pipe that a grandchild holds: it ends when the last holder is gone."""

    def __init__(self, cwd: Path) -> None:
        self.path = cwd / "pipe"
        os.mkfifo(self.path)

    async def up(self) -> None:
        self.file = await to_thread.run_sync(self.path.open, abandon_on_cancel=True)
        assert await to_thread.run_sync(self.file.readline) == "up\n"

    async def gone(self) -> None:
        assert await to_thread.run_sync(self.file.read) == ""
        self.file.close()


async def test_output_of_both_streams_comes_in_order(use):
    assert (await use("bash", command="echo 1; echo 2 >&2; echo 3")).text == "1\n2\n3"


async def test_it_runs_in_the_working_directory(desk):
    assert (await desk.use("bash", command="pwd -P")).text == str(desk.cwd.resolve())


async def test_the_exit_code_is_shown_when_it_is_not_zero(use):
    outcome = await use("bash", command="echo no; exit 3")
    assert (outcome.kind, outcome.text) == ("failed", "no\n\n[Exit code 3.]")
    assert (await use("bash", command="false")).text == "[Exit code 1.]"
    assert (await use("bash", command="true")).text == "[no output]"
    assert (await use("bash", command="kill -KILL $$")).text == "[Exit code 137.]"


async def test_quotes_and_line_breaks_reach_the_shell_unchanged(use):
    assert (await use("bash", command="x='a \"b\"'\necho \"$x\" '$0'")).text == 'a "b" $0'


async def test_no_secret_of_the_environment_is_visible(use, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-top-secret")
    names = {line.partition("=")[0] for line in (await use("bash", command="env")).text.splitlines()}
    assert names <= {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_", MARKER}


async def test_the_end_of_long_output_is_kept(use):
    outcome = await use("bash", command="seq 1 5000")
    assert outcome.text.startswith("3001\n3002\n")
    assert outcome.text.endswith(
        "5000\n\n[Showing lines 3001-5000 of 5000; send the output to a file to read the rest]"
    )


async def test_a_flood_of_output_is_stopped_in_one_sentence(use):
    outcome = await use("bash", command="yes")
    assert outcome.kind == "failed"
    assert (
        "[The command was stopped: it wrote more than 10485760 bytes; send its output to a file instead.]"
        in outcome.text
    )


class TestInMovedTime:
    @pytest.fixture
    def anyio_backend(self, moved_time):
        return moved_time

    async def test_a_timeout_keeps_the_output_and_ends_the_grandchild(self, desk):
        watch = Watch(desk.cwd)

        async def time_passes():
            await watch.up()
            advance(200)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(time_passes)
            outcome = await desk.use("bash", command=f"echo early\n{HOLDER}\nwait", timeout=200)
        assert outcome.kind == "failed"
        assert outcome.text == "early\n\n[The command was stopped after 200 seconds; at most 600 can be asked for.]"
        await watch.gone()

    async def test_more_than_ten_minutes_cannot_be_asked_for(self, desk):
        watch = Watch(desk.cwd)

        async def time_passes():
            await watch.up()
            advance(599)
            await anyio.wait_all_tasks_blocked()
            assert outcomes == []
            advance(1)

        outcomes = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(time_passes)
            outcomes.append(await desk.use("bash", command=f"{HOLDER}\nwait", timeout=100_000))
        assert "[The command was stopped after 600 seconds; at most 600 can be asked for.]" in outcomes[0].text
        await watch.gone()


async def test_cancelling_the_run_ends_the_grandchild(desk):
    watch = Watch(desk.cwd)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: desk.use("bash", command=f"{HOLDER}\nwait"))
            await watch.up()
            scope.cancel()
    assert scope.cancelled_caught
    await watch.gone()


async def test_a_background_job_ends_with_its_command(desk):
    watch = Watch(desk.cwd)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.up)
        outcome = await desk.use("bash", command=f"{HELD}\necho started; exit 4")
    assert outcome.text == "started\n\n[Exit code 4.]"
    await watch.gone()


@pytest.mark.slow
async def test_a_background_job_that_ignores_being_asked_ends_too(desk):
    watch = Watch(desk.cwd)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.up)
        outcome = await desk.use("bash", command=f"trap '' TERM; {HELD}\necho started; exit 4")
    assert (outcome.kind, outcome.text) == ("failed", "started\n\n[Exit code 4.]")
    await watch.gone()


AWAY = "sh -c 'exec 3>pipe; echo up >&3; echo > ready; exec sleep 300'"
DAEMONS = {
    "a session of its own": f"setsid -f {AWAY}",
    "two forks": f"(setsid {AWAY} & )",
    "without an environment": f"env -i PATH=$PATH setsid -f {AWAY}",
    "deaf": f"trap '' TERM; setsid -f {AWAY}",
    "parents and children": f'setsid -f sh -c "{AWAY} & setsid -f sleep 300; sleep 300"',
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody is told of a daemon without its mark")
@pytest.mark.parametrize("daemon", DAEMONS.values(), ids=[*DAEMONS])
class TestDaemons:
    @pytest.mark.sample(5)
    async def test_a_daemon_ends_with_its_command(self, desk, daemon):
        watch = Watch(desk.cwd)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.up)
            outcome = await desk.use("bash", command=f"mkfifo ready; {daemon}; read line < ready; echo done")
        assert outcome.text == "done"
        await watch.gone()

    @pytest.mark.sample(5)
    async def test_a_daemon_ends_with_a_run_that_is_cancelled(self, desk, daemon):
        watch = Watch(desk.cwd)
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                command = f"mkfifo ready; {daemon}; read line < ready; sleep 300"
                tasks.start_soon(lambda: desk.use("bash", command=command))
                await watch.up()
                scope.cancel()
        await watch.gone()


@pytest.mark.sample(4)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody is told of a daemon without its mark")
@pytest.mark.parametrize("daemon", [daemon for daemon in DAEMONS.values() if "env -i" not in daemon])
async def test_a_daemon_ends_though_its_command_has_killed_its_shell(desk, daemon):
    watch = Watch(desk.cwd)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.up)
        await desk.use("bash", command=f"mkfifo ready; {daemon}; read line < ready; kill -KILL $PPID; sleep 300")
    await watch.gone()


async def test_a_background_job_may_put_its_things_in_order(desk):
    job = "(trap 'sleep 0.2; echo tidy > state; exit' TERM; echo > ready; while :; do sleep 0.01; done) &"
    await desk.use("bash", command=f"mkfifo ready; {job} read line < ready")
    assert (desk.cwd / "state").read_text() == "tidy\n"


async def test_what_a_command_writes_to_its_streams_is_never_its_exit_code(use):
    outcome = await use("bash", command="echo 7 >&2; echo 9 >&3")
    assert outcome.text.startswith("7\n")
    assert outcome.text.endswith("\n\n[Exit code 1.]")
    assert (await use("bash", command="kill -KILL 0")).text == "[Exit code 137.]"


async def test_input_is_at_its_end(use):
    assert (await use("bash", command="cat; echo done")).text == "done"


async def test_a_nul_in_the_command_is_one_sentence(use):
    outcome = await use("bash", command="echo \0")
    assert (outcome.kind, outcome.text) == ("failed", "The command holds a NUL character, which no shell accepts.")
