"""Advice to install something works where it is given."""

import json
import re
import shlex
from pathlib import Path

import pytest

from ohm_subagents._plugins.installation import install_command


@pytest.mark.parametrize(
    ("origin", "extra", "command"),
    [
        ({}, "anthropic", "pip install 'ohm-subagents[anthropic]'"),
        ({"url": "file:///w/ohm", "dir_info": {}}, "groq", "pip install '/w/ohm[groq]'"),
        ({"url": "file:///w/ohm", "dir_info": {"editable": True}}, "groq", "pip install -e '/w/ohm[groq]'"),
        ({"url": "file:///my%20clone", "dir_info": {}}, "xai", "pip install '/my clone[xai]'"),
        ({"url": "file:///w/ohm"}, "local", "pip install /w/ohm /w/ohm/plugins/ohm-local-model"),
        ({"url": "file:///w/ohm"}, "cli", "pip install /w/ohm /w/ohm/plugins/ohm-backend-cli"),
        (
            {"url": "https://example.org/ohm.git", "vcs_info": {"vcs": "git", "commit_id": "1"}},
            "google",
            "pip install 'ohm-subagents[google] @ git+https://example.org/ohm.git'",
        ),
        ([], "google", "pip install 'ohm-subagents[google]'"),
        ("no json", "google", "pip install 'ohm-subagents[google]'"),
    ],
)
def test_the_command_follows_where_this_installation_came_from(origin, extra, command):
    written = origin if isinstance(origin, str) else json.dumps(origin)
    assert install_command(extra, written) == command


@pytest.mark.parametrize("extra", ["anthropic", "cli", "local", "postgres", "ray"])
def test_the_command_for_this_installation_names_folders_that_are_there(extra):
    *_, named = shlex.split(install_command(extra))
    folder = Path(re.sub(r"\[\w+\]$", "", named))
    assert (folder / "pyproject.toml").is_file(), "the tests run in a clone"
