"""`read`, `write`, `edit`, `ls`."""

import io
import os
import socket
import stat

import anyio
import pytest
from anyio import from_thread, to_thread

from ohm_subagents.backends.in_process.tools import edit
from ohm_subagents.backends.in_process.tools.place import Place
from ohm_subagents.backends.in_process.tools.text_file import raw_lines, write_file

pytestmark = pytest.mark.anyio


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


async def test_read_gives_a_short_file_whole(desk):
    desk.put("a.txt", "one\r\n\ufefftwo\nthree")
    assert (await desk.use("read", path="a.txt")).text == "one\n\ufefftwo\nthree"


async def test_read_drops_a_byte_order_mark(desk):
    desk.put("a.txt", "\ufeffone\n")
    assert (await desk.use("read", path="a.txt")).text == "one"


async def test_read_shows_a_part_and_how_to_go_on(desk):
    desk.put("a.txt", numbered(950))
    outcome = await desk.use("read", path="a.txt", limit=2)
    assert outcome.text == "line 1\nline 2\n\n[Showing lines 1-2 of 950; continue with offset=3]"
    outcome = await desk.use("read", path="a.txt", offset=949, limit=50)
    assert outcome.text == "line 949\nline 950\n\n[Showing lines 949-950 of 950]"


async def test_read_never_shows_more_than_its_line_budget(desk):
    desk.put("a.txt", numbered(2500))
    outcome = await desk.use("read", path="a.txt", limit=100_000)
    assert outcome.text.endswith("line 2000\n\n[Showing lines 1-2000 of 2500; continue with offset=2001]")


async def test_read_never_shows_more_than_its_size_budget(desk):
    desk.put("a.txt", "x" * 999 + "\n" + ("y" * 999 + "\n") * 99)
    outcome = await desk.use("read", path="a.txt")
    assert outcome.text.endswith("[Showing lines 1-50 of 100; continue with offset=51]")
    assert len(outcome.text) < 50_100


async def test_read_cuts_a_long_line_and_says_so(desk):
    desk.put("a.txt", "x" * 5_000_000 + "\nend\n")
    assert (await desk.use("read", path="a.txt")).text == "x" * 2000 + " [line cut]\nend"


async def test_read_of_an_empty_file_says_so(desk):
    desk.put("a.txt", "")
    assert (await desk.use("read", path="a.txt")).text == "[a.txt is empty]"


async def test_read_replaces_bytes_that_are_not_utf8(desk):
    desk.put("a.txt", b"caf\xe9\n")
    assert (await desk.use("read", path="a.txt")).text == "caf\ufffd"


@pytest.mark.parametrize(
    ("path", "arguments", "sentence"),
    [
        ("absent.txt", {}, 'No such file or directory: "absent.txt".'),
        ("dir", {}, "dir is a directory; use ls to list it."),
        ("blob", {}, "blob is a binary file of 4 bytes and cannot be shown as text."),
        ("pipe", {}, "pipe is not a regular file and cannot be read."),
        ("a.txt", {"offset": 9}, "The offset 9 is past the end of a.txt, which has 2 lines."),
        ("a.txt/deeper", {}, 'Not a directory: "a.txt/deeper".'),
        ("loop", {}, 'Too many levels of symbolic links: "loop".'),
    ],
)
async def test_read_refuses_in_one_sentence(desk, path, arguments, sentence):
    desk.put("a.txt", "1\n2\n")
    desk.put("blob", b"\x7f\0\0\1")
    (desk.cwd / "dir").mkdir()
    (desk.cwd / "loop").symlink_to("loop")
    os.mkfifo(desk.cwd / "pipe")
    outcome = await desk.use("read", path=path, **arguments)
    assert (outcome.kind, outcome.text) == ("failed", sentence)


async def test_a_file_without_permission_is_one_sentence(desk, monkeypatch):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    desk.put("a.txt", "x").chmod(0)
    outcome = await desk.use("read", path="a.txt")
    assert (outcome.kind, outcome.text) == ("failed", 'Permission denied: "a.txt".')


async def test_write_makes_directories_and_overwrites(desk):
    assert (await desk.use("write", path="new/deep/a.txt", content="hé\n")).text == "Wrote 4 bytes to new/deep/a.txt."
    await desk.use("write", path="new/deep/a.txt", content="short")
    assert (desk.cwd / "new/deep/a.txt").read_text() == "short"


async def test_write_to_a_directory_is_one_sentence(desk):
    (desk.cwd / "dir").mkdir()
    outcome = await desk.use("write", path="dir", content="x")
    assert (outcome.kind, outcome.text) == ("failed", 'Is a directory: "dir".')


@pytest.mark.parametrize(
    ("tool", "arguments"), [("write", {"content": "new"}), ("edit", {"oldText": "old", "newText": "new"})]
)
async def test_a_reader_sees_the_whole_old_or_the_whole_new_file(desk, tool, arguments):
    file = desk.put("a.sh", "old")
    file.chmod(0o750)
    with file.open() as reader:
        assert (await desk.use(tool, path="a.sh", **arguments)).kind == "success"
        assert reader.read() == "old"
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    assert [entry.name for entry in desk.cwd.iterdir()] == ["a.sh"]


@pytest.mark.parametrize("path", ["link/a.txt", "link/new.txt", "link/new/a.txt", "file"])
def test_a_link_put_there_after_the_path_was_resolved_is_not_written_through(tmp_path, path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("theirs")
    (root / "link").symlink_to(outside)
    (root / "file").symlink_to(outside / "a.txt")
    with pytest.raises(OSError, match=r"Too many levels of symbolic links|Not a directory|Not a regular file"):
        write_file(Place(root=root, path=root / path), b"ours")
    assert [entry.name for entry in outside.iterdir()] == ["a.txt"]
    assert (outside / "a.txt").read_text() == "theirs"
    assert sorted(entry.name for entry in root.iterdir()) == ["file", "link"]


@pytest.mark.parametrize(
    ("tool", "arguments"), [("write", {"content": "new"}), ("edit", {"oldText": "old", "newText": "new"})]
)
async def test_what_else_is_linked_to_a_file_keeps_its_bytes(desk, tool, arguments):
    outside = desk.cwd.parent / "outside.txt"
    outside.write_text("old")
    os.link(outside, desk.cwd / "a.txt")
    assert (await desk.use("read", path="a.txt")).text == "old"
    assert (await desk.use(tool, path="a.txt", **arguments)).kind == "success"
    assert ((desk.cwd / "a.txt").read_text(), outside.read_text()) == ("new", "old")


def _written_over(file):
    file.write_text("old, and more")


def _put_in_its_place(file):
    other = file.with_name("other")
    other.write_text("old")
    other.rename(file)


@pytest.mark.parametrize(("change", "left"), [(_written_over, "old, and more"), (_put_in_its_place, "old")])
async def test_a_file_that_changes_while_it_is_edited_keeps_the_change(desk, monkeypatch, change, left):
    file = desk.put("a.txt", "old")

    def then_written(*given, **options):
        change(file)
        write_file(*given, **options)

    monkeypatch.setattr(edit, "write_file", then_written)
    outcome = await desk.use("edit", path="a.txt", oldText="old", newText="new")
    sentence = "a.txt was changed by somebody else meanwhile, so nothing was written; read it again."
    assert (outcome.kind, outcome.text) == ("failed", sentence)
    assert file.read_text() == left
    assert [entry.name for entry in desk.cwd.iterdir()] == ["a.txt"]


async def test_a_file_that_goes_while_it_is_edited_is_not_made_again(desk, monkeypatch):
    file = desk.put("a.txt", "old")

    def then_written(*given, **options):
        file.unlink()
        write_file(*given, **options)

    monkeypatch.setattr(edit, "write_file", then_written)
    outcome = await desk.use("edit", path="a.txt", oldText="old", newText="new")
    assert (outcome.kind, "was changed by somebody else" in outcome.text) == ("failed", True)
    assert list(desk.cwd.iterdir()) == []


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("read", {}, "{0} is not a regular file and cannot be read."),
        ("edit", {"oldText": "a", "newText": "b"}, "{0} is not a regular file and cannot be read."),
        ("write", {"content": "x"}, 'Not a regular file: "{0}".'),
        ("ls", {}, 'Not a directory: "{0}".'),
        ("grep", {"pattern": "x"}, "{0} is not a regular file and cannot be read."),
    ],
)
@pytest.mark.parametrize("name", ["pipe", "socket"])
async def test_no_tool_waits_for_a_pipe_or_a_socket(desk, monkeypatch, tool, arguments, sentence, name):
    monkeypatch.chdir(desk.cwd)
    with socket.socket(socket.AF_UNIX) as listening:
        os.mkfifo("pipe")
        listening.bind("socket")
        outcome = await desk.use(tool, path=name, **arguments)
    assert (outcome.kind, outcome.text) == ("failed", sentence.format(name))


async def test_a_file_whose_name_is_not_utf8_is_listed_and_searched(desk):
    (desk.cwd / os.fsdecode(b"caf\xe9.txt")).write_text("needle\n")
    assert (await desk.use("ls")).text == "caf\ufffd.txt"
    assert (await desk.use("find", pattern="*.txt")).text == "caf\ufffd.txt"
    assert (await desk.use("grep", pattern="needle")).text == "caf\ufffd.txt:1: needle"


async def test_write_to_a_pipe_is_one_sentence(desk):
    os.mkfifo(desk.cwd / "pipe")
    outcome = await desk.use("write", path="pipe", content="x")
    assert (outcome.kind, outcome.text) == ("failed", 'Not a regular file: "pipe".')


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_file_that_may_not_be_written_is_not_replaced(desk):
    desk.put("a.txt", "old").chmod(0o400)
    outcome = await desk.use("write", path="a.txt", content="x")
    assert (outcome.kind, outcome.text) == ("failed", 'Permission denied: "a.txt".')


async def test_cancelling_ends_the_reading_of_a_line_without_end():
    class Endless(io.BytesIO):
        reads = 0

        def readline(self, _size: int | None = -1, /) -> bytes:
            self.reads += 1
            if self.reads == 3:
                from_thread.run_sync(scope.cancel)
            return b"x" if self.reads < 10 else b""

    endless = Endless()
    with anyio.CancelScope() as scope:
        await to_thread.run_sync(lambda: list(raw_lines(endless)))
    assert scope.cancelled_caught
    assert endless.reads == 3


async def test_edit_replaces_the_one_occurrence(desk):
    desk.put("a.txt", "one\ntwo\nthree\n")
    outcome = await desk.use("edit", path="a.txt", oldText="two\n", newText="2\n")
    assert outcome.text == "Replaced 1 occurrence in a.txt, from line 2."
    assert (desk.cwd / "a.txt").read_text() == "one\n2\nthree\n"


async def test_edit_keeps_windows_line_ends(desk):
    desk.put("a.txt", b"one\r\ntwo\r\nthree\r\n")
    await desk.use("edit", path="a.txt", oldText="one\ntwo", newText="1\n2")
    assert (desk.cwd / "a.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


async def test_edit_takes_the_python_spelling_too(desk):
    desk.put("a.txt", "one")
    await desk.use("edit", path="a.txt", old_text="one", new_text="two")
    assert (desk.cwd / "a.txt").read_text() == "two"


@pytest.mark.parametrize(
    ("text", "old", "new", "start"),
    [
        (b"one one one", "one", "1", "oldText occurs 3 times in a.txt; it must occur exactly once"),
        (b"one", "two", "2", "oldText was not found in a.txt"),
        (b"one", "one", "one", "oldText and newText are the same"),
        (b"\xff\xfe", "one", "1", "a.txt is not UTF-8 text"),
    ],
)
async def test_edit_refuses_in_one_sentence_and_changes_nothing(desk, text, old, new, start):
    desk.put("a.txt", text)
    outcome = await desk.use("edit", path="a.txt", oldText=old, newText=new)
    assert outcome.kind == "failed"
    assert outcome.text.startswith(start)
    assert (desk.cwd / "a.txt").read_bytes() == text


async def test_ls_lists_in_order_with_hidden_entries(desk):
    for name in ("b.txt", "A.txt", ".hidden", "dir/x"):
        desk.put(name, "")
    assert (await desk.use("ls")).text == ".hidden\nA.txt\nb.txt\ndir/"
    assert (await desk.use("ls", path="dir")).text == "x"
    assert (await desk.use("ls", limit=3)).text.endswith(
        "b.txt\n\n[Showing 3 of 4 entries; raise limit or use find to see the others]"
    )


async def test_ls_of_an_empty_directory_says_so(desk):
    assert (await desk.use("ls")).text == "[. is an empty directory]"


async def test_ls_of_a_file_is_one_sentence(desk):
    desk.put("a.txt", "")
    outcome = await desk.use("ls", path="a.txt")
    assert (outcome.kind, outcome.text) == ("failed", 'Not a directory: "a.txt".')
