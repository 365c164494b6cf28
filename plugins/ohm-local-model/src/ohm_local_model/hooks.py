"""The plugin as the host sees it. Cheap: the model's runtime and pydantic-ai are imported when a model is opened."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.plugin import Err, ErrorCode, ModelPattern, ModelSpec, OhmError, Ok, Result, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_ai.models import Model

    from ohm_local_model.engine import Engine

PROVIDER: Final = "gguf"
MAGIC: Final = b"GGUF"


@hookimpl
def ohm_models() -> Iterable[ModelSpec]:
    """Offer provider `gguf`: the model of a pattern is the path of a file."""
    yield ModelSpec(
        provider=PROVIDER,
        summary="GGUF files, run in this process by llama.cpp: no key, no network.",
        open=partial(open_model, {}),
        is_free=True,
    )


def open_model(engines: dict[Path, Engine], pattern: ModelPattern) -> Result[Model, OhmError]:
    """Make the model of `gguf/<path>`; `~` is the home directory, a relative path starts at the process's directory.

    The file is loaded at the first request. Models of one file share the engine in `engines`. Returns `model_unknown`
    (no such file), `invalid_model` (not a GGUF file) or `provider_not_installed` (the runtime is missing).
    """
    match gguf_file(pattern.model):
        case Err() as missing:
            return missing
        case Ok(path):
            pass
    if find_spec("xllamacpp") is None:
        return Err(
            OhmError(
                code=ErrorCode.PROVIDER_NOT_INSTALLED,
                message=f'Model "{pattern}" needs the package xllamacpp, which is not installed.',
                advice="Install it: pip install xllamacpp.",
            )
        )
    from ohm_local_model.engine import Engine  # noqa: PLC0415 - loads pydantic_ai
    from ohm_local_model.model import GgufModel  # noqa: PLC0415 - loads pydantic_ai

    return Ok(GgufModel(engines.setdefault(path, Engine(path=path))))


def gguf_file(text: str) -> Result[Path, OhmError]:
    """Resolve `text` to a readable file that starts as GGUF files do."""
    try:
        path = Path(text).expanduser().resolve()
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except (OSError, RuntimeError, ValueError) as exc:  # RuntimeError: no such home; ValueError: a NUL in the path
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        return Err(
            OhmError(
                code=ErrorCode.MODEL_UNKNOWN,
                message=f'The model file "{text}" cannot be read: {reason.rstrip(".")}.',
                advice='Give the path of a GGUF file, such as "gguf//models/model.gguf" or "gguf/~/model.gguf".',
            )
        )
    if magic != MAGIC:
        return Err(
            OhmError(
                code=ErrorCode.INVALID_MODEL,
                message=f'The model file "{text}" is not a GGUF file: it does not start with the bytes "GGUF".',
                advice="Give the path of a model in GGUF format.",
            )
        )
    return Ok(path)
