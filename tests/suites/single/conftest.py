"""An `Ohm` whose subagents do what a test says."""

import json
import tempfile
from contextlib import asynccontextmanager

import anyio.lowlevel
import pytest
from acting import ActingBackend

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC

CONFIG = "extensions/devkit-pi/config.json"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    for name in ("work", "tmp"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def configure(place):
    """Writes the `subagents` section of the config.json."""

    def write(section):
        file = place / "agent" / CONFIG
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"subagents": section or {}}))

    return write


@pytest.fixture
def opened(place, configure):
    """An `Ohm` whose subagents do what a function says, with the `subagents` section of a config.json."""

    @asynccontextmanager
    async def ohm(act=None, *, section=None, env=None, host=None, config=None, suites=("single",), **options):
        configure(section)
        acting = ActingBackend(act or answered)
        async with Ohm.open(
            cwd=place / "work",
            env=HERMETIC | {"HOME": str(place), "PI_CODING_AGENT_DIR": str(place / "agent")} | (env or {}),
            config={"subagentBackend": "acting"} | (config or {}),
            suites=suites,
            plugins=[acting],
            host=host,
            **options,
        ) as opened:
            opened.acting = acting
            yield opened

    return ohm


async def answered(request, _sink):
    await anyio.lowlevel.checkpoint()
    return f"Answer to {request.prompt}"
