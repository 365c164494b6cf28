"""A text file on disk, opened and read so that no file can hurt: a pipe, a link, a binary, a line without end."""

import codecs
import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, TextIOWrapper
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import IO, Final, Protocol

from anyio import from_thread

from ohm_subagents.backends.in_process.regular_file import DIRECTORY, READING, open_below, open_file
from ohm_subagents.backends.in_process.tools.failure import fail
from ohm_subagents.backends.in_process.tools.place import Place

RECORD_BYTES: Final = 16_384  # of one line; the rest of a longer one is skipped without being held in memory
_PROBE_BYTES: Final = 8192
_BINARY_PROBE_BYTES: Final = 65_536
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHECK_EVERY: Final = 1000
_IDENTITY: Final = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


def open_text(place: Place) -> IO[bytes]:
    """Open a regular text file; anything else fails in one sentence. A link put there meanwhile is not followed."""
    file = open_regular(place)
    if b"\0" in file.peek(_PROBE_BYTES):
        size = os.fstat(file.fileno()).st_size
        file.close()
        fail(f"{place.shown} is a binary file of {size} bytes and cannot be shown as text.")
    return file


def open_regular(place: Place) -> BufferedReader:
    """Open a regular file, as above."""
    try:
        handle = open_place(place, READING)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a device that is not there
            fail(f"{place.shown} is not a regular file and cannot be read.", error)
        raise
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        if stat.S_ISDIR(status.st_mode):
            fail(f"{place.shown} is a directory; use ls to list it.")
        fail(f"{place.shown} is not a regular file and cannot be read.")
    return os.fdopen(handle, "rb")


def open_place(place: Place, flags: int) -> int:
    """Open whatever is there, from directory to directory."""
    try:
        return open_below(place.root, place.path.relative_to(place.root).as_posix(), flags)
    except OSError as error:  # which knows only a part of the path
        raise OSError(error.errno, error.strerror, str(place.path)) from error


def write_file(place: Place, data: bytes, *, read: os.stat_result | None = None) -> None:
    """Replace the whole file at once, or leave it as it was; make missing directories; keep the file's permissions.

    The name gets a new file: what else is linked to the old one keeps its bytes. If the file was `read` before, and is
    another one or has changed since, the call fails and nothing is written.

    Blocks: call it in a worker thread. No link is followed, not even one put there since the path was resolved.
    """
    *directories, name = place.path.relative_to(place.root).parts or (".",)
    handles = [os.open(place.root, DIRECTORY)]
    try:
        for part in directories:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=handles[-1])
            handles.append(os.open(part, DIRECTORY | os.O_NOFOLLOW, dir_fd=handles[-1]))
        is_same = _replace(handles[-1], name, data, read)
    except OSError as error:  # which knows only the last part of the path
        raise OSError(error.errno, error.strerror, str(place.path)) from error
    finally:
        for handle in handles:
            os.close(handle)
    if not is_same:
        fail(f"{place.shown} was changed by somebody else meanwhile, so nothing was written; read it again.")


def _replace(directory: int, name: str, data: bytes, read: os.stat_result | None) -> bool:
    """Put a new file in the place of a name; False, and nothing is changed, if that is not the file that was read."""
    mode = _mode_if_writable(directory, name)
    temporary = f".{token_hex(8)}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=directory)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.fchmod(handle, mode)
            file.write(data)
        if read is not None and not _is_as_read(directory, name, read):
            os.unlink(temporary, dir_fd=directory)
            return False
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)
        raise
    return True


def _is_as_read(directory: int, name: str, read: os.stat_result) -> bool:
    try:
        now = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return all(getattr(now, one) == getattr(read, one) for one in _IDENTITY)


def _mode_if_writable(directory: int, name: str) -> int | None:
    """Return the permissions of the file, nothing if there is none yet; an `OSError` if it could not be written to."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file")
    os.close(os.open(name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory))
    return stat.S_IMODE(status.st_mode)


@contextmanager
def opened_lines(root: Path, path: str) -> Generator[Iterator[str] | None]:
    """The lines of a text file, as a search sees them; none of a binary one, and None where it cannot be read.

    For worker threads, as below.
    """
    file = open_file(root, path)
    if file is None:
        yield None
        return
    with file:
        head = file.peek(_BINARY_PROBE_BYTES)
        if head.startswith(_UTF16):
            wide = _Transcoded(TextIOWrapper(file, "utf-16", errors="replace", newline="\n"))
            yield map(decode, raw_lines(wide))
        else:
            yield iter(()) if b"\0" in head else map(decode, raw_lines(file))


class _Transcoded:
    """Reads a file of another encoding as UTF-8."""

    def __init__(self, file: TextIOWrapper) -> None:
        self._file = file

    def readline(self, limit: int, /) -> bytes:
        return self._file.readline(limit).encode(errors="replace")


class Readable(Protocol):
    """Reads line by line."""

    def readline(self, limit: int, /) -> bytes: ...


def raw_lines(file: Readable) -> Iterator[bytes]:
    """Yield the lines of a file without their ends, each cut at a size that is safe to hold.

    Call it in a worker thread: it stops soon after the thread's call was cancelled.
    """
    for number in count():
        if number % _CHECK_EVERY == 0:
            from_thread.check_cancelled()
        line = rest = file.readline(RECORD_BYTES)
        if not line:
            return
        while rest and not rest.endswith(b"\n"):
            from_thread.check_cancelled()
            rest = file.readline(RECORD_BYTES)
        yield line.rstrip(b"\r\n")


def decode(line: bytes) -> str:
    """Return a line as text; bytes that are not UTF-8 become U+FFFD."""
    return line.decode("utf-8", errors="replace")
