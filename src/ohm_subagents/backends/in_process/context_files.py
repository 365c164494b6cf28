"""The context file of a project, such as `AGENTS.md`, as part of the instructions of a run."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.profile import FINALIZE, READING_TOOLS
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.files import TRUST_COMMAND, read_text
from ohm_subagents.plugin import Diagnostic
from ohm_subagents.suite import has_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ohm_subagents.files import Covers
    from ohm_subagents.plugin import RunRequest

_HARMLESS: Final = (*READING_TOOLS, FINALIZE)
MAX_CHARS: Final = 32 * 1024
"""The most of a file that becomes part of the instructions, in characters."""


def context_of(request: RunRequest, names: Sequence[str], trusts: Covers) -> Result[str, Diagnostic]:
    """Return the text of the nearest file with one of these names, for the instructions; empty without one.

    It is looked for in the working directory of the task, and above it up to the repository's. Returns a diagnostic for
    one that cannot be read, that is too long, or that is a link to somewhere else; and, unless the user trusts it, for
    the run of a subagent that does more than read, since the author of a text decides what is done.
    """
    agent = request.profile.agent
    if not names or (agent is not None and agent.no_context_files):
        return Ok("")
    path = next((path for path in _candidates(request.cwd, names) if os.path.lexists(path)), None)
    if path is None:
        return Ok("")
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(path.parent)):
        return Err(_left_out(path, "it is a link to another directory"))
    read = read_text(path)
    if isinstance(read, Err):
        return Err(_left_out(path, read.err_value))
    text = read.ok_value.strip()
    if len(text) > MAX_CHARS:
        return Err(_left_out(path, f"it has more than {MAX_CHARS} characters"))
    if not trusts(path, read.ok_value) and not all(has_tool(_HARMLESS, name) for name in request.tools):
        why = f"the subagent does more than read, and the project is not trusted ('{TRUST_COMMAND}')"
        return Err(_left_out(path, why))
    return Ok(f'The project says about work in it:\n\n<context_file name="{path.name}">\n{text}\n</context_file>')


def look_up(cwd: Path, names: Sequence[str], trusts: Covers) -> None:
    """Ask whether each file that a run in this directory could read is trusted: so `ohm trust` knows of it."""
    for path in filter(os.path.lexists, _candidates(cwd, names)):
        read = read_text(path)
        if isinstance(read, Ok):
            trusts(path, read.ok_value)


def _candidates(cwd: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield the paths of such files, the nearest first."""
    above = (cwd, *cwd.parents)
    root = next((one for one in above if os.path.lexists(one / ".git")), cwd)
    for folder in (*takewhile(lambda one: one != root, above), root):
        yield from (folder / name for name in names)


def _left_out(path: Path, why: str) -> Diagnostic:
    return Diagnostic(subject="contextFiles", message=f"The context file '{path}' is left out: {why}.")
