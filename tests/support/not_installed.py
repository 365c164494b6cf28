"""A program that a test needs and that a registry did not give: a skip, or a failure where `CI` is set."""

import os
from typing import NoReturn

import pytest


def not_installed(reason: str) -> NoReturn:
    """End the test with the reason."""
    if os.environ.get("CI", "").strip().lower() in {"", "0", "false"}:
        pytest.skip(reason)
    pytest.fail(reason, pytrace=False)
