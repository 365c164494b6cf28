"""The failures of the system below a workspace, as a person reads them."""

from __future__ import annotations

import errno
import os

import pytest

from ohm_subagents.workspaces.failure import error_of


@pytest.mark.parametrize(
    ("why", "message"),
    [
        (
            OSError(errno.EROFS, "Read-only", "/new/a", None, b"a"),
            "The files cannot be written: 'a' (Read-only).",
        ),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "The files cannot be written (No space left on device)."),
        (OSError("it broke"), "The files cannot be written: it broke."),
    ],
)
def test_the_file_that_cannot_be_written_is_named_with_the_reason(why: OSError, message: str) -> None:
    assert error_of(why).message == message
