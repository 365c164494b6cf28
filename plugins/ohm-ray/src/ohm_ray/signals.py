"""The handler of SIGTERM, which Ray takes from a process that joins a cluster."""

from __future__ import annotations

from contextlib import contextmanager
from ctypes import CDLL, create_string_buffer
from signal import SIGTERM
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

_AMPLE: Final = 512
"""Bytes that hold a `struct sigaction` of any system."""


@contextmanager
def kept_sigterm() -> Generator[None]:
    """Give SIGTERM back to its handler of before: that of Ray prints a stack of C++, and ends the process at once.

    It goes by the C library, for Python sets handlers in the main thread only, and does not see that of Ray.
    """
    library, before = CDLL(None), create_string_buffer(_AMPLE)
    library.sigaction(SIGTERM, None, before)
    try:
        yield
    finally:
        library.sigaction(SIGTERM, before, None)
