"""Homes in which nothing can be looked up. A name that is too long stands for a folder that may not be looked into,
which root would not notice."""

import pytest


@pytest.fixture(autouse=True)
def _long_home(ohm):
    ohm.env["HOME"] = ohm.env["PI_CONFIG_DIR"] = "/" + "x" * 300


@pytest.mark.parametrize("command", ["doctor", "tools", "subagents", "tasks"])
def test_a_home_that_cannot_be_looked_into_is_said_in_one_sentence(ohm, command):
    done = ohm(command)
    assert done.returncode == 2
    assert "ohm.json: file name too long. Put a file there that this process may read" in done.stdout + done.stderr


def test_nothing_is_trusted_in_such_a_home(ohm):
    assert "No project is trusted" in ohm("trust", "--list").stdout
