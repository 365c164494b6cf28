"""`ohm trust`: what the files of a project may do, and whether its user wants that."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._terminal.exits import SUCCESS, TASK_FAILED, complain
from ohm_subagents._terminal.terminal import print_text
from ohm_subagents.config import (
    TRUST_COMMAND,
    Project,
    TrustRecord,
    config_dir,
    forget_trust,
    process_env,
    trust_records,
    write_trust,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents._app.assembly import Assembly


async def trust(cwd: Path) -> int:
    """Say what the project gets by it, and keep what its files say now; the exit code."""
    assembly = _looked_at(cwd)
    refused = _refused(assembly)
    asked = assembly.trust().asked
    if not asked:
        print_text(f"Nothing to trust: {cwd} has no file for subagents.")
        return SUCCESS
    print_text("\n".join(_allowed(refused)))
    try:
        for project, files in asked.items():
            write_trust(_record(project, files, assembly.sources.clock()), config_dir(process_env()))
    except OSError as error:
        complain(f"The record cannot be written to '{error.filename}': {error.strerror}.")
        return TASK_FAILED
    print_text("\n".join(_trusted(asked)))
    return SUCCESS


def _trusted(asked: Mapping[Project, Mapping[str, str]]) -> Iterator[str]:
    for project, files in asked.items():
        yield f"Trusted: {os.path.realpath(project.folder)}, as long as these files stay as they are:"
        yield from files


def _record(project: Project, files: Mapping[str, str], now_ms: int) -> TrustRecord:
    """Return the new record of a project: these files, and those trusted before, unless one of them has changed."""
    if project.record is not None and not project.changed:
        files = {**project.record.files, **files}
    files = dict(sorted(files.items()))
    return TrustRecord(project=os.path.realpath(project.folder), trusted_ms=now_ms, files=files)


async def forget(cwd: Path) -> int:
    """Trust the project no more; the exit code."""
    try:
        was_trusted = forget_trust(cwd, config_dir(process_env()))
    except OSError as error:
        complain(f"The record cannot be removed: {error.strerror}.")
        return TASK_FAILED
    print_text(f"{cwd} is not trusted{' any more' if was_trusted else ''}.")
    return SUCCESS


async def print_trusted() -> int:
    """List the projects that are trusted."""
    found = [f"{one.project} ({len(one.files)} files)" for one in trust_records(config_dir(process_env()))]
    print_text("\n".join(found) or "No project is trusted.")
    return SUCCESS


def trust_line(cwd: Path) -> tuple[bool, str]:
    """Return True if nothing is left to trust in the project, and a line about it."""
    assembly = _looked_at(cwd)
    refused = _refused(assembly)
    now = assembly.trust()
    files = sum(map(len, now.asked.values()))
    if not files:
        return True, "the project has no file for subagents"
    if now.is_whole():
        return True, f"the project is trusted, with {files} files"
    count = f"{len(refused)} things" if len(refused) != 1 else "one thing"
    return False, f"the project is not trusted: {files} files only tighten, {count} refused; see '{TRUST_COMMAND}'"


def _looked_at(cwd: Path) -> Assembly:
    """Assemble an `Ohm` from the project's files; its clock stands still, so that each file is read once."""
    from ohm_subagents._app.assembly import Sources, assemble, system_clock
    from ohm_subagents._orchestrator.observe.logger import HostLogger

    now = system_clock()
    return assemble(
        Sources(
            cwd=cwd,
            config=None,
            env=process_env(),
            plugins=(),
            profiles=None,
            logger=HostLogger(),
            clock=lambda: now,
        )
    )


def _refused(assembly: Assembly) -> tuple[str, ...]:
    """Return a line for each setting that is refused until the project is trusted. Reads all of its files."""
    trusted = replace(assembly.sources, trusts=True)
    from ohm_subagents._app.assembly import assemble

    after = frozenset(_told(assemble(trusted)))
    return tuple(one for one in _told(assembly) if one not in after)


def _told(assembly: Assembly) -> Iterator[str]:
    yield from map(str, assembly.diagnostics)
    yield from map(str, assembly.host.checks(assembly.place, _all_suites(assembly)))


def _all_suites(assembly: Assembly) -> Mapping[str, Mapping[str, JsonValue]]:
    return {name: assembly.config.suite_options.get(name, {}) for name in assembly.host.tool_suites()}


def _allowed(refused: tuple[str, ...]) -> Iterator[str]:
    if not refused:
        yield "Nothing was refused before."
    else:
        yield "What was refused before, and is allowed once the project is trusted:"
        yield from (f"  {one}" for one in refused)
