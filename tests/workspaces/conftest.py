"""A directory in no repository that has many files, where git is installed and where it is not."""

import pytest
from plain_trees import environment, filled

from ohm_subagents.workspaces import parts


@pytest.fixture(params=["with git", "without git"])
def env(request, tmp_path):
    return environment(tmp_path, has_git=request.param == "with git")


@pytest.fixture
def parent(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "SMALLEST_PART", 3)
    monkeypatch.setattr(parts, "PROCESSES", 3)
    return filled(tmp_path / "parent")
