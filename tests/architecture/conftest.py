import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="session")
def sources() -> Callable[..., dict[str, str]]:
    """The texts of all files that match, by path from the root."""

    def sources(*patterns: str) -> dict[str, str]:
        paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
        assert paths, f"no file matches {patterns}"
        return {str(path.relative_to(ROOT)): path.read_text() for path in paths}

    return sources
