"""`ohm trust`: trust the files of a project, and show what that allows."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ohm_subagents.commands import SUCCESS, TASK_FAILED, complain, print_text, system_clock
from ohm_subagents.config import (
    TRUST_COMMAND,
    Project,
    TrustRecord,
    changed_files,
    config_dir,
    forget_trust,
    process_env,
    trust_records,
    write_trust,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ohm_subagents.config import Trust
    from ohm_subagents.contract import Diagnostic


@dataclass(frozen=True, slots=True, kw_only=True)
class _Review:
    """The files of a project for subagents, and what they ask for."""

    trust: Trust
    """The user's trust in the project, with all files that were looked up."""
    refused: tuple[Diagnostic, ...]
    """A diagnostic for each setting that is refused until the project is trusted."""


async def trust(cwd: Path) -> int:
    """Print what trust allows, and record the files of the project as they are now; return the exit code."""
    asked = await _shown(cwd)
    try:
        for project, files in asked.items():
            write_trust(_record(project, files, system_clock()), config_dir(process_env()))
    except OSError as error:
        complain(f"The record cannot be written to '{error.filename}': {error.strerror}.")
        return TASK_FAILED
    _print_files("Trusted", asked)
    return SUCCESS


async def preview(cwd: Path) -> int:
    """Print what trust would allow, with the files it would be for, and record nothing; return the exit code."""
    _print_files("Would be trusted", await _shown(cwd))
    return SUCCESS


async def _shown(cwd: Path) -> Mapping[Project, Mapping[str, str]]:
    """Print what trust allows; return the files by project."""
    review = await _reviewed(cwd)
    if review.trust.asked:
        print_text("\n".join(_allowed(review)))
    else:
        print_text(f"Nothing to trust: {cwd} has no file for subagents.")
    return review.trust.asked


def _print_files(state: str, asked: Mapping[Project, Mapping[str, str]]) -> None:
    for project, files in asked.items():
        print_text(f"{state}: {os.path.realpath(project.folder)}, as long as these files stay as they are:")
        print_text("\n".join(files))


def _record(project: Project, files: Mapping[str, str], now_ms: int) -> TrustRecord:
    """Return the new record of a project: these files, and those trusted before, unless one of them has changed."""
    if project.record is not None and not project.changed:
        files = {**project.record.files, **files}
    files = dict(sorted(files.items()))
    return TrustRecord(project=os.path.realpath(project.folder), trusted_ms=now_ms, files=files)


async def forget(cwd: Path) -> int:
    """Forget the trust in a project; return the exit code."""
    try:
        was_trusted = forget_trust(cwd, config_dir(process_env()))
    except OSError as error:
        complain(f"The record cannot be removed: {error.strerror}.")
        return TASK_FAILED
    print_text(f"{cwd} is not trusted{' any more' if was_trusted else ''}.")
    return SUCCESS


async def print_trusted() -> int:
    """List the trusted projects, and those whose trust has lapsed; return the exit code."""
    found = map(_listed, trust_records(config_dir(process_env())))
    print_text("\n".join(found) or "No project is trusted.")
    return SUCCESS


def _listed(record: TrustRecord) -> str:
    changed = changed_files(record)
    lapsed = f": not trusted any more, '{changed[0]}' is not as it was" if changed else ""
    return f"{record.project} ({_files(len(record.files))}){lapsed}"


def _files(count: int) -> str:
    return "one file" if count == 1 else f"{count} files"


async def trust_line(cwd: Path) -> tuple[bool, str]:
    """Return True if nothing is left to trust in the project, and a line about it."""
    review = await _reviewed(cwd)
    files = sum(map(len, review.trust.asked.values()))
    if not files:
        return True, "the project has no file for subagents"
    if review.trust.is_whole():
        return True, f"the project is trusted, with {_files(files)}"
    held = "its one file" if files == 1 else f"its {files} files"
    void = "one thing there counts" if len(review.refused) == 1 else f"{len(review.refused)} things there count"
    refused = f"; {void} for nothing" if review.refused else ""
    return False, f"the project is not trusted: {held} can only forbid and limit{refused}; see '{TRUST_COMMAND}'"


async def _reviewed(cwd: Path) -> _Review:
    """Read all files of the project as they count now, and as if they were trusted, with no suite mounted.

    The clock stands still, so that each file is read once.
    """
    from ohm_subagents import Ohm
    from ohm_subagents.store import MemoryStore

    now_ms = system_clock()

    async def opened(*, trusts: bool) -> tuple[Trust, list[Diagnostic]]:
        store = MemoryStore(lambda: now_ms)
        async with Ohm.open(cwd=cwd, suites=(), clock=lambda: now_ms, store=store, trust=trusts) as ohm:
            parts = ohm.inspect()
            return parts.trust, [*ohm.diagnostics, *parts.checks(parts.suites)]

    (found, before), (_, after) = await opened(trusts=False), await opened(trusts=True)
    same = {*after, *found.diagnostics()}
    return _Review(trust=found, refused=tuple(one for one in dict.fromkeys(before) if one not in same))


def _allowed(review: _Review) -> Iterator[str]:
    """Yield why trust had lapsed, then what was refused; leave out the advice to trust the project."""
    yield from (one.message for one in review.trust.diagnostics())
    if not review.refused:
        yield "Nothing was refused before."
    else:
        yield "What was refused before, and is allowed once the project is trusted:"
        yield from (f"  {replace(one, advice='')}" for one in review.refused)
