"""The input and the output of a process: every byte, as lines, without a limit and without a deadlock."""

import signal
import sys
from collections import Counter

import anyio
import pytest
from deafness import HEARS_ALL, heard
from leaks import MARKER
from real_processes import PYTHON

from ohm_subagents import ErrorCode, Ok
from ohm_subagents.shell.lines import Splitter
from ohm_subagents.shell.process import Supervisor, output_of

pytestmark = pytest.mark.anyio

MIB = 1 << 20


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.slow)])
def anyio_backend(request):
    """In real time."""
    return request.param


async def ran(launch):
    """Its lines, how it ended, and itself."""
    async with Supervisor.open(grace_s=0.1) as supervisor:
        child = (await supervisor.start(launch)).unwrap()
        lines = [line async for line in child.lines()]
        return lines, await child.ended(), child


async def test_lines_are_split_at_line_feeds_and_nothing_else(started):
    text = "a\r\n\u2028b\x85c\x0bd\x0ce\x1cf\n\n\ud7ffg"
    script = f"import sys; sys.stdout.buffer.write({text.encode()!r})"
    lines, ended, _ = await ran(started.python(script))
    assert lines == text.encode().split(b"\n")
    assert (ended.code, ended.stderr, ended.was_stopped) == (0, "", False)


async def test_a_last_line_without_an_end_is_a_line_and_an_end_makes_none(started):
    assert (await ran(started.sh("printf 'a\\nb'")))[0] == [b"a", b"b"]
    assert (await ran(started.sh("printf 'a\\nb\\n'")))[0] == [b"a", b"b"]
    assert (await ran(started.sh("true")))[0] == []


@pytest.mark.parametrize("size", [1 * MIB, 20 * MIB])
async def test_a_line_may_be_long(started, size):
    lines, _, _ = await ran(started.python("import sys; print('x' * int(sys.argv[1])); print('y')", size))
    assert [(len(line), line[:1]) for line in lines] == [(size, b"x"), (1, b"y")]


@pytest.mark.slow
async def test_many_short_lines_arrive_in_order(started):
    lines, _, _ = await ran(started.python("for n in range(50_000): print(n)"))
    assert lines == [b"%d" % n for n in range(50_000)]


async def test_a_line_beyond_the_limit_is_left_out_and_counted(started):
    script = "import sys; part = 'x' * 2**20\nfor _ in range(65): sys.stdout.write(part)\nprint(); print('y')"
    lines, _, child = await ran(started.python(script))
    assert (lines, child.dropped_lines) == ([b"y"], 1)


def test_of_a_line_beyond_the_limit_nothing_is_kept():
    splitter = Splitter(limit=3)
    assert [splitter.feed(chunk) for chunk in (b"ab", b"cd", b"ef", b"\nabc\nab")] == [[], [], [], [b"abc"]]
    assert (splitter.rest(), splitter.dropped) == ([b"ab"], 1)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_where_the_chunks_end_makes_no_difference(size):
    text = b"one\n\ntwo\r\nthree\xe2\x80\xa8four\n"
    splitter = Splitter()
    chunks = (text[start : start + size] for start in range(0, len(text), size))
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    assert (lines, splitter.has_begun) == (text.split(b"\n")[:-1], False)


async def test_a_process_that_writes_before_it_reads_takes_a_long_prompt_all_the_same(started):
    script = (
        "import sys; sys.stdout.write('x' * 5 * 2**20 + '\\n'); sys.stdout.flush()\n"
        "sys.stderr.write('e' * 2**20); print(len(sys.stdin.buffer.read()))"
    )
    lines, ended, _ = await ran(started.python(script, prompt=b"p" * 5 * MIB))
    assert [len(lines[0]), lines[1]] == [5 * MIB, b"%d" % (5 * MIB)]
    assert ended.code == 0


async def test_the_prompt_arrives_as_it_is_and_is_all_there_is(started):
    prompt = "--help\n@file\n-\u2028\r\n\0".encode()
    assert (await ran(started.command("cat", prompt=prompt)))[0] == prompt.split(b"\n")
    assert (await ran(started.command("cat", prompt=b"")))[0] == []


async def test_a_process_that_does_not_read_its_prompt_is_no_error(started):
    lines, ended, _ = await ran(started.sh("echo done; exit 3", prompt=b"p" * 5 * MIB))
    assert (lines, ended.code) == ([b"done"], 3)


async def test_input_stays_open_without_a_prompt_and_what_comes_too_late_is_lost(started):
    async with Supervisor.open() as supervisor:
        child = (await supervisor.start(started.sh("read a; read b; echo $b $a"))).unwrap()
        await child.write(b"first\n")
        await child.write(b"second\n")
        assert [line async for line in child.lines()] == [b"second first"]
        await child.ended()
        await child.write(b"third\n" * MIB)


async def test_several_writers_do_not_mix_what_they_write(started):
    async with Supervisor.open() as supervisor:
        child = (await supervisor.start(started.command("cat"))).unwrap()
        async with anyio.create_task_group() as group:
            for letter in b"abc":
                group.start_soon(child.write, bytes([letter]) * 300_000 + b"\n")
            lines = child.lines()
            found = [await anext(lines) for _ in range(3)]
        assert Counter((line[:1], len({*line}), len(line)) for line in found) == Counter(
            (bytes([letter]), 1, 300_000) for letter in b"abc"
        )


async def test_of_standard_error_the_end_is_kept(started):
    script = "import sys; sys.stderr.buffer.write(b'x' * 2**20 + b'\\xff the end')"
    _, ended, _ = await ran(started.python(script))
    assert (len(ended.stderr), ended.stderr[-9:]) == (16 << 10, "\ufffd the end")


async def test_a_command_is_stopped_after_its_first_mebibyte_of_output(started):
    script = "import signal\nfor _ in range(2**15): print('x' * 63)\nsignal.pause()"
    async with Supervisor.open() as supervisor:
        with anyio.fail_after(30):
            found = await output_of(supervisor, (*PYTHON, script), started.env, started.cwd)
    code, said, _ = found.unwrap()
    assert code == -signal.SIGTERM
    assert MIB < said.count("x") <= MIB + 63


async def test_a_process_ends_though_nobody_reads_what_it_writes(started):
    async with Supervisor.open() as supervisor:
        child = (await supervisor.start(started.python("print(('x' * 63 + '\\n') * 2**17)"))).unwrap()
        assert (await child.ended()).code == 0
        assert [line async for line in child.lines()] == []


async def test_who_stops_reading_has_nothing_to_close(started):
    async with Supervisor.open() as supervisor:
        child = (await supervisor.start(started.python("for n in range(10**5): print(n)"))).unwrap()
        async for line in child.lines():
            assert line == b"0"
            break
        assert (await child.ended()).code == 0


@pytest.mark.slow
async def test_a_task_that_reads_gets_every_line_while_another_waits_for_the_end(started):
    read = []

    async def reader(child):
        read.extend([line async for line in child.lines()])

    async with Supervisor.open() as supervisor, anyio.create_task_group() as group:
        child = (await supervisor.start(started.python("for n in range(10**5): print(n)"))).unwrap()
        group.start_soon(reader, child)
        await child.ended()
    assert read == [b"%d" % n for n in range(10**5)]


async def test_a_reader_that_gives_up_one_line_goes_on_with_the_next(started):
    async with Supervisor.open() as supervisor:
        child = (await supervisor.start(started.sh("printf half; read a; echo $a"))).unwrap()
        lines = child.lines()
        async with anyio.create_task_group() as group:
            group.start_soon(anext, lines)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        await child.write(b"-line\n")
        assert [line async for line in lines] == [b"half-line"]


async def test_a_process_gets_exactly_its_environment_and_the_marker(started):
    launch = started.command("env", "-0", env=started.env | {"A": "1=2\n", "EMPTY": ""})
    lines, _, _ = await ran(launch)
    shown = dict(entry.split("=", 1) for entry in b"\n".join(lines).decode().split("\0") if entry)
    marker = shown.pop(MARKER)
    assert shown == {name: value for name, value in launch.env.items() if name != MARKER}
    outer, _, ours = marker.rpartition("/")
    assert (outer, ours.partition(".")[2]) == (launch.env[MARKER], "1")


async def test_without_a_marker_around_it_the_marker_is_the_hosts_own(started):
    lines, _, _ = await ran(started.command("printenv", MARKER, env={"PATH": started.env["PATH"]}))
    host, _, number = lines[0].decode().partition(".")
    assert (len(host), number) == (32, "1")


async def test_a_process_leads_its_session_in_its_folder_and_inherits_nothing_else(started):
    script = (
        "import os; print(os.getpid(), os.getsid(0), os.getpgid(0)); print(os.getcwd())\n"
        "print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])\n"
        "print([line for line in open('/proc/self/status') if line.startswith(('SigBlk', 'SigIgn'))])"
    )
    sh = f"echo $$; {sys.executable} -V >/dev/null; grep -E 'Sig(Ign|Blk)' /proc/self/status; exec \"$@\""
    lines, _, child = await ran(started.sh(sh, command=("sh", "-c", sh, "sh", *PYTHON, script)))
    assert lines[0] == b"%d" % child.pid
    assert heard(b"\n".join(lines[1:3]).decode()) == HEARS_ALL
    assert lines[3].split() == [b"%d" % child.pid] * 3
    assert lines[4].decode() == f"{started.cwd}"
    assert lines[5] == b"[0, 1, 2]"


async def test_a_process_that_cannot_start_is_an_error_in_a_sentence(started):
    cwd = started.cwd
    (cwd / "plain").write_text("text", encoding="utf-8")
    (cwd / "lost").write_text("#!/no/such/interpreter\n", encoding="utf-8")
    (cwd / "lost").chmod(0o700)
    missing = cwd / "missing"
    launches = [
        (
            started.command("no-such-agent", env={"PATH": "/a:/b"}),
            "was not found in any of the folders of PATH (/a:/b).",
        ),
        (started.command(f"{missing}"), f'The command "{missing}" is not there.'),
        (started.command("./plain"), f'The command "{cwd / "plain"}" is not executable.'),
        (started.command("./lost"), f'"{cwd / "lost"}" does not start: No such file or directory.'),
        (started.command("cat", "nul\0"), "does not start: embedded null byte."),
        (started.command("cat", "x" * 3 * MIB), "does not start: Argument list too long."),
        (started.command("cat", cwd=missing), f'The working directory "{missing}" is not there.'),
    ]
    async with Supervisor.open() as supervisor:
        for launch, message in launches:
            error = (await supervisor.start(launch)).unwrap_err()
            assert error.message.endswith(message)
            assert error.code == (ErrorCode.CWD_UNREADABLE if launch.cwd == missing else ErrorCode.COMMAND_UNUSABLE)
        assert isinstance(await supervisor.start(started.command("true")), Ok)
