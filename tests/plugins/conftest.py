import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import uv

DISTRIBUTIONS = Path(__file__).parent / "dists"


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Really installs fixture distributions by name, without a network; returns the directory for PYTHONPATH."""

    def install(*names: str) -> Path:
        target = tmp_path_factory.mktemp("site")
        command = [uv.find_uv_bin(), "pip", "install", "--offline", "--no-cache", "--no-deps", "--no-build-isolation"]
        sources = [str(DISTRIBUTIONS / name) for name in names]
        subprocess.run(
            [*command, "--quiet", "--python", sys.executable, "--target", str(target), *sources],
            check=True,
            capture_output=True,
        )
        return target

    return install
