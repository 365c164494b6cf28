"""Files that somebody else may have put there are read without waiting, and not at any length."""

import os

import pytest

from ohm_subagents._config.regular_file import MAX_BYTES, is_one_place, read_all, read_regular


def test_a_file_is_read_up_to_one_mebibyte(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * MAX_BYTES)
    assert len(read_regular(tmp_path / "a")) == MAX_BYTES
    (tmp_path / "a").write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(OSError, match="larger than 1048576 bytes"):
        read_regular(tmp_path / "a")


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(tmp_path / "pipe")


def test_a_file_that_has_nothing_yet_is_an_error_and_not_waited_for():
    """So do some of the kernel's own files, which say that they are regular ones."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with os.fdopen(reading, "rb") as file, os.fdopen(writing, "wb"), pytest.raises(BlockingIOError, match="nothing"):
        read_all(file)


def test_two_paths_are_one_place_where_they_lead_to_the_same(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "loop").symlink_to("loop")
    assert is_one_place(tmp_path / "link" / "new", tmp_path / "there" / "new")
    assert not is_one_place(tmp_path / "loop", tmp_path / "there")
