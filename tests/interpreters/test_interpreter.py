"""Programs of ours in a process of their own: what they may use, and what they find."""

import resource
import signal
import sys

import anyio
import anyio.lowlevel
import pytest

from ohm_subagents._interpreters.interpreter import ProcessLimits, installed, limit_process, run_apart

pytestmark = pytest.mark.anyio
LIMITS = ProcessLimits(memory=1 << 30, seconds=60)


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.slow)])
def anyio_backend(request):
    """Both loops as they are: these processes live in the time of the world."""
    return request.param


@pytest.fixture
def run(tmp_path):
    async def run(program, said=b"", limits=LIMITS):
        (tmp_path / "probe.py").write_text(f"def main():\n    {program}\n")
        return await run_apart("probe", said, limits, paths=[str(tmp_path)])

    return run


async def test_a_program_gets_what_is_said_to_it_and_its_limits(run):
    program = "import resource as r, sys; print(sys.stdin.read(), *map(r.getrlimit, (r.RLIMIT_AS, r.RLIMIT_CPU)))"
    assert (await run(program, b"hello")).stdout.decode() == f"hello {(1 << 30, 1 << 30)} (60, 61)\n"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("program", "end"),
    [
        ("while True: pass", {-signal.SIGXCPU, -signal.SIGALRM}),
        ("import time; time.sleep(10_000)", {-signal.SIGALRM}),
        ("bytes(1 << 31)", {1}),
    ],
    ids=["the processor", "the clock", "memory"],
)
async def test_a_program_that_wants_more_than_its_limits_is_ended(run, program, end):
    assert (await run(program, limits=ProcessLimits(memory=1 << 30, seconds=1))).returncode in end


async def test_what_its_host_ignores_and_blocks_does_not_save_it(run):
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    try:
        done = await run("import time; time.sleep(10_000)", limits=ProcessLimits(memory=1 << 30, seconds=1))
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    assert done.returncode == -signal.SIGALRM


async def test_a_program_ends_with_whoever_waits_for_it(run, tmp_path):
    begun = tmp_path / "begun"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            run, f"import os, time; os.mkfifo({str(begun)!r}); open({str(begun)!r}, 'w'); time.sleep(10_000)"
        )
        while not begun.exists():  # a name that only the program makes
            await anyio.lowlevel.checkpoint()
        async with await anyio.open_file(begun) as life:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                assert await life.read() == "", "it has ended, and with it the pipe"


def test_the_directory_of_the_work_is_not_among_those_that_are_imported_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend("relative")
    assert set(installed()) == {path for path in sys.path if path.startswith("/")} - {str(tmp_path)}


@pytest.mark.skipif(sys.platform != "linux", reason="no other system can limit another process")
@pytest.mark.parametrize("hard", [(1 << 29, 40), (1 << 29, 20)])
async def test_no_limit_is_above_the_hard_one_that_a_process_has(hard):
    memory, seconds = hard
    async with await anyio.open_process(["sleep", "10000"]) as process:
        try:
            for what, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
                resource.prlimit(process.pid, what, (most, most))
            limit_process(process.pid, ProcessLimits(memory=1 << 30, seconds=20))
            assert resource.prlimit(process.pid, resource.RLIMIT_AS) == (memory, memory)
            assert resource.prlimit(process.pid, resource.RLIMIT_CPU) == (20, min(21, seconds))
        finally:
            process.kill()
    limit_process(process.pid, LIMITS)  # it is over, and nobody minds
