"""The command in this process, in a home of its own."""

import pytest
from command_line import in_this_process
from mcp_process import place_of


@pytest.fixture
def ohm_at(tmp_path):
    def run(*arguments, **env):
        return in_this_process(*arguments, cwd=tmp_path, env=place_of(tmp_path, **env))

    return run
