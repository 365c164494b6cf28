"""File tools never leave the task's cwd (house.md 9.7)."""

import os
import sys
from contextlib import suppress
from importlib import import_module

import anyio
import pytest

from ohm_subagents.backends.in_process.programs import find_ripgrep
from ohm_subagents.backends.in_process.tools.place import Place
from ohm_subagents.backends.in_process.tools.text_file import open_text, write_file

pytestmark = pytest.mark.anyio

OUTSIDE = "leads outside the working directory"

READERS = [
    ("read", {}),
    ("ls", {}),
    ("grep", {"pattern": "secret"}),
    ("find", {"pattern": "*"}),
    ("code_search", {"query": "secret"}),
    ("edit", {"oldText": "secret", "newText": "gone"}),
    ("write", {"content": "gone"}),
]


@pytest.fixture
def attacked(desk):
    """A cwd with every kind of way out, beside a file that must stay unread and unchanged."""
    outside = desk.cwd.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n")
    (desk.cwd.parent / "work-sibling").mkdir()
    (desk.cwd.parent / "work-sibling" / "secret.txt").write_text("secret\n")
    (desk.cwd / "file_link").symlink_to(outside / "secret.txt")
    (desk.cwd / "dir_link").symlink_to(outside)
    (desk.cwd / "chain").symlink_to("dir_link")
    (desk.cwd / "dangling").symlink_to(outside / "new.txt")
    (desk.cwd / "loop").symlink_to("loop")
    (desk.cwd / "sub").mkdir()
    yield desk
    assert [file.name for file in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret\n"
    assert (desk.cwd.parent / "work-sibling" / "secret.txt").read_text() == "secret\n"


WAYS_OUT = [
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "file_link",
    "dir_link/secret.txt",
    "chain/secret.txt",
    "dir_link/../outside/secret.txt",
    "loop/../file_link",
    "loop/../dir_link/secret.txt",
    "../work-sibling/secret.txt",
    "/etc/passwd",
    "..",
    "/",
    "dir_link",
    "dangling",
    "dir_link/brand/new.txt",
    "../brand-new.txt",
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("tool", "arguments"), READERS, ids=[tool for tool, _ in READERS])
@pytest.mark.parametrize("path", WAYS_OUT)
async def test_no_tool_follows_a_path_out_of_cwd(attacked, tool, arguments, path):
    outcome = await attacked.use(tool, path=path, **arguments)
    assert outcome.kind == "failed"
    assert OUTSIDE in outcome.text
    assert "secret\n" not in outcome.text


@pytest.mark.parametrize("tool", ["read", "write", "edit", "ls", "grep", "find"])
async def test_an_absolute_path_out_of_cwd_is_refused(attacked, tool):
    arguments = {name: value for name, value in READERS if name == tool}[tool]
    outcome = await attacked.use(tool, path=str(attacked.cwd.parent / "outside" / "secret.txt"), **arguments)
    assert (outcome.kind, OUTSIDE in outcome.text) == ("failed", True)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("grep", {"pattern": "secret"}), ("find", {"pattern": "*.txt"}), ("code_search", {"query": "secret"})],
)
async def test_results_never_come_from_behind_a_link(attacked, tool, arguments):
    attacked.put("inside.txt", "secret of mine\n")
    outcome = await attacked.use(tool, **arguments)
    assert "inside.txt" in outcome.text
    assert "link" not in outcome.text
    assert "outside" not in outcome.text


@pytest.mark.sample(3)
@pytest.mark.parametrize("path", ["sub/secret.txt", "sub"])
@pytest.mark.parametrize(("tool", "arguments"), READERS, ids=[tool for tool, _ in READERS])
async def test_a_directory_that_becomes_a_link_once_the_path_is_resolved_leads_nowhere(
    attacked, monkeypatch, tool, arguments, path
):
    attacked.put("sub/secret.txt", "harmless\n")
    home = "search.tool" if tool == "code_search" else f"tools.{tool}"
    module = import_module(f"ohm_subagents.backends.in_process.{home}")
    locate = module.locate

    async def then_swapped(*given):
        place = await locate(*given)
        (attacked.cwd / "sub").rename(attacked.cwd / "was")
        (attacked.cwd / "sub").symlink_to(attacked.cwd.parent / "outside")
        return place

    monkeypatch.setattr(module, "locate", then_swapped)
    outcome = await attacked.use(tool, path=path, **arguments)
    assert "secret\n" not in outcome.text
    assert "secret.txt:" not in outcome.text
    assert tool not in {"ls", "find"} or "secret.txt\n" not in f"{outcome.text}\n"


async def test_a_directory_that_becomes_a_link_once_it_is_listed_leads_nowhere(attacked):
    attacked.put("sub/secret.txt", "harmless\n")
    swap = f"mv sub was; ln -s {attacked.cwd.parent}/outside sub"
    attacked.fake_ripgrep(f'{swap}; exec {find_ripgrep()} "$@"')
    outcome = await attacked.use("grep", pattern="secret|harmless")
    assert outcome.text.startswith('[No matches for "secret|harmless"]')


EXCHANGE = """
import ctypes, os, sys
swap = ctypes.CDLL(None, use_errno=True).renameat2
print("begun", flush=True)
while os.getppid() == int(sys.argv[1]):
    swap(-100, b"sub", -100, b"link", 2)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"path": "sub/a.txt"}),
        ("ls", {"path": "sub"}),
        ("grep", {"pattern": "e"}),
        ("grep", {"pattern": "e", "path": "sub/a.txt"}),
        ("find", {"pattern": "*"}),
        ("code_search", {"query": "secret harmless"}),
        ("edit", {"path": "sub/a.txt", "oldText": "s", "newText": "S"}),  # twice in what is inside, once outside
    ],
    ids=lambda given: given if isinstance(given, str) else "-".join(given),
)
async def test_no_race_between_a_directory_and_a_link_leads_outside(desk, tool, arguments):
    desk.put("sub/a.txt", "harmless\n")
    desk.put("../outside/a.txt", "secret\n")
    desk.put("../outside/secret.txt", "secret\n")
    (desk.cwd / "link").symlink_to(desk.cwd.parent / "outside")
    command = [sys.executable, "-c", EXCHANGE, str(os.getpid())]
    seen = set()
    async with await anyio.open_process(command, cwd=desk.cwd) as racer:
        assert await racer.stdout.receive()
        for _ in range(20):
            seen.add((await desk.use(tool, **arguments)).text)
        racer.kill()
    assert not [text for text in seen if "secret" in text.replace("secret harmless", "") or "Replaced" in text]
    assert len(seen) > 1, "there was a race"
    assert {file.read_text() for file in desk.cwd.glob("*/a.txt")} == {"harmless\n", "secret\n"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")
async def test_of_two_thousand_reads_and_writes_in_a_race_none_is_outside(desk):
    desk.put("sub/a.txt", "harmless\n")
    outside = desk.put("../outside/a.txt", "secret\n").resolve()
    (desk.cwd / "link").symlink_to(outside.parent)
    a, b = (Place(root=desk.cwd, path=desk.cwd / "sub" / name) for name in ("a.txt", "b.txt"))
    command = [sys.executable, "-c", EXCHANGE, str(os.getpid())]
    read = set()
    async with await anyio.open_process(command, cwd=desk.cwd) as racer:
        assert await racer.stdout.receive()
        for number in range(2000):
            with suppress(OSError):
                write_file(b, b"%d" % number)
            with suppress(OSError), open_text(a) as file:
                read.add(file.read())
        racer.kill()
    assert read <= {b"harmless\n"}
    assert [entry.name for entry in outside.parent.iterdir()] == ["a.txt"]
    assert outside.read_text() == "secret\n"


async def test_an_absolute_path_inside_cwd_is_fine(desk):
    file = desk.put("a.txt", "hello\n")
    assert (await desk.use("read", path=str(file))).text == "hello"


async def test_a_link_that_stays_inside_is_followed(desk):
    desk.put("real/a.txt", "hello\n")
    (desk.cwd / "link").symlink_to("real")
    assert (await desk.use("read", path="link/a.txt")).text == "hello"
    assert (await desk.use("write", path="link/b.txt", content="x")).text == "Wrote 1 bytes to real/b.txt."


async def test_a_cwd_that_is_itself_a_link_works(desk):
    desk.put("a.txt", "hello\n")
    link = desk.cwd.parent / "alias"
    link.symlink_to(desk.cwd)
    desk.cwd = link
    assert (await desk.use("read", path="a.txt")).text == "hello"
    assert (await desk.use("read", path=str(link / "a.txt"))).text == "hello"
    assert (await desk.use("grep", pattern="hello")).text == "a.txt:1: hello"


async def test_a_path_no_system_accepts_is_one_sentence(desk):
    outcome = await desk.use("read", path="a\0b")
    assert outcome.kind == "failed"
    assert outcome.text == r"'a\x00b' is not a valid path."


async def test_a_file_called_like_an_option_is_a_file(desk):
    desk.put("--files/-e", "needle\n")
    assert (await desk.use("grep", pattern="needle", path="--files")).text == "--files/-e:1: needle"
    assert (await desk.use("grep", pattern="--version")).text == '[No matches for "--version"]'
    assert (await desk.use("find", pattern="-e")).text == "--files/-e"
