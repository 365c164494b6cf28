"""The failure of a tool: one sentence that the model reads; the run goes on."""

from typing import NoReturn

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.workspaces import WorkspaceError


def fail(sentence: str, cause: Exception | None = None) -> NoReturn:
    """End the call of the tool with this sentence."""
    raise ToolFailed(sentence) from cause


def sentence(error: OSError | WorkspaceError, root: str) -> str:
    """Return what the system refused, with paths relative to `root`."""
    if isinstance(error, OSError) and error.strerror:
        name = str(error.filename or "").removeprefix(f"{root}/")
        return f'{error.strerror}: "{name}".' if name else f"{error.strerror}."
    text = str(error).replace(f"{root}/", "").strip().rstrip(".")
    return f"{text or type(error).__name__}."
