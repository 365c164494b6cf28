from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ohm_local_model import ohm_models
from ohm_local_model.model import GgufModel
from ohm_subagents.plugin import Err, ErrorCode, ModelPattern, ModelSpec, OhmError, Ok

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def spec() -> ModelSpec:
    [only] = ohm_models()
    return only


def refusal(spec: ModelSpec, model: str | Path) -> OhmError:
    match spec.open(ModelPattern(provider="gguf", model=str(model))):
        case Err(error):
            return error
        case Ok(opened):
            pytest.fail(f"opened {opened!r}")


def opened(spec: ModelSpec, model: str | Path) -> GgufModel:
    match spec.open(ModelPattern(provider="gguf", model=str(model))):
        case Ok(GgufModel() as result):
            return result
        case other:
            pytest.fail(f"got {other!r}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00")
    return path


def test_the_provider_is_gguf_and_needs_no_key(spec: ModelSpec) -> None:
    assert (spec.provider, spec.keys, spec.default_model) == ("gguf", (), None)


@pytest.mark.slow
def test_asking_for_the_hook_loads_neither_the_runtime_nor_pydantic_ai() -> None:
    code = (
        "import sys, ohm_local_model; list(ohm_local_model.ohm_models());"
        "print(sorted({'xllamacpp', 'pydantic_ai'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_file_is_one_sentence_with_the_path(spec: ModelSpec, tmp_path: Path) -> None:
    error = refusal(spec, tmp_path / "none.gguf")
    assert error.code is ErrorCode.MODEL_UNKNOWN
    assert error.message == f'The model file "{tmp_path / "none.gguf"}" cannot be read: No such file or directory.'


def test_a_directory_is_refused(spec: ModelSpec, tmp_path: Path) -> None:
    assert refusal(spec, tmp_path).message == f'The model file "{tmp_path}" cannot be read: Is a directory.'


@pytest.mark.parametrize("path", ["~no-such-user-here/model.gguf", "a\0b"])
def test_a_path_that_is_none_is_refused(spec: ModelSpec, path: str) -> None:
    assert refusal(spec, path).code is ErrorCode.MODEL_UNKNOWN


def test_a_file_of_another_format_is_refused(spec: ModelSpec, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_text("PK")
    error = refusal(spec, tmp_path / "model.gguf")
    assert error.code is ErrorCode.INVALID_MODEL
    assert "is not a GGUF file" in error.message


def test_without_the_runtime_the_error_says_what_to_install(
    spec: ModelSpec, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    error = refusal(spec, file)
    assert error.code is ErrorCode.PROVIDER_NOT_INSTALLED
    assert "pip install xllamacpp" in error.advice


def test_a_home_relative_and_a_relative_path_lead_to_the_same_file(
    spec: ModelSpec, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(file.parent))
    monkeypatch.chdir(file.parent)
    names = {opened(spec, path).model_name for path in ("~/tiny.gguf", "tiny.gguf", file)}
    assert names == {str(file.resolve())}


def test_opening_a_model_reads_no_weights(spec: ModelSpec, file: Path) -> None:
    assert not opened(spec, file).engine.is_loaded


def test_two_models_of_one_file_share_an_engine(spec: ModelSpec, file: Path) -> None:
    assert opened(spec, file).engine is opened(spec, file).engine


def test_the_profile_says_that_there_are_no_thinking_levels(spec: ModelSpec, file: Path) -> None:
    profile = opened(spec, file).profile
    assert profile.get("supports_thinking") is False
    assert profile.get("context_window") == 8192
