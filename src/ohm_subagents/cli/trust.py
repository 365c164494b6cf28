"""`ohm trust`: what the files of a project may do, and whether its user wants that."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._config.env import config_dir, process_env
from ohm_subagents._config.trust import COMMAND, TrustRecord, forget_trust, records, write_trust
from ohm_subagents.cli.exits import SUCCESS, TASK_FAILED, complain
from ohm_subagents.cli.terminal import print_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ohm_subagents._app.assembly import Assembly


async def trust(cwd: Path) -> int:
    """Say what the project gets by it, and keep what its files say now; the exit code."""
    assembly = _looked_at(cwd)
    refused = _refused(assembly)
    files = assembly.trust().asked
    if not files:
        print_text(f"Nothing to trust: {cwd} has no file for subagents.")
        return SUCCESS
    record = _record(assembly)
    try:
        write_trust(record, config_dir(process_env()))
    except OSError as error:
        complain(f"The record cannot be written to '{error.filename}': {error.strerror}.")
        return TASK_FAILED
    print_text(
        "\n".join([*_allowed(refused), f"Trusted: {record.project}, as long as these files stay as they are:", *files])
    )
    return SUCCESS


def _record(assembly: Assembly) -> TrustRecord:
    sources = assembly.sources
    files = dict(sorted(assembly.trust().asked.items()))
    return TrustRecord(project=os.path.realpath(sources.cwd), trusted_ms=sources.clock(), files=files)


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
    found = [f"{one.project} ({len(one.files)} files)" for one in records(config_dir(process_env()))]
    print_text("\n".join(found) or "No project is trusted.")
    return SUCCESS


def trust_line(cwd: Path) -> tuple[bool, str]:
    """Whether nothing is left to trust in the project, and what to say of it."""
    assembly = _looked_at(cwd)
    refused = _refused(assembly)
    now = assembly.trust()
    if not now.asked:
        return True, "the project has no file for subagents"
    if now.record is not None and not now.changed and now.asked.items() <= now.record.files.items():
        return True, f"the project is trusted, with {len(now.asked)} files"
    count = f"{len(refused)} things" if len(refused) != 1 else "one thing"
    return False, f"the project is not trusted: {len(now.asked)} files only tighten, {count} refused; see '{COMMAND}'"


def _looked_at(cwd: Path) -> Assembly:
    """What the project's files make of an `Ohm`; the time stands still, so that each file is read once."""
    from ohm_subagents._app.assembly import Sources, assemble, system_clock
    from ohm_subagents._orchestrator.log import HostLogger

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
    """What the project's files do not get as long as they are not trusted; all of them are read for it."""
    trusted = replace(assembly.sources, trusts=True)
    from ohm_subagents._app.assembly import assemble

    after = frozenset(_told(assemble(trusted)))
    return tuple(one for one in _told(assembly) if one not in after)


def _told(assembly: Assembly) -> Iterator[str]:
    from ohm_subagents._app.surroundings import SINGLE, STICKY, Surroundings

    skills = assembly.agents.skills()
    yield from (f"The skill '{name}' of a project is left out." for name in sorted(skills.untrusted))
    yield from map(str, assembly.diagnostics)
    yield from map(str, Surroundings(assembly).diagnostics((SINGLE, STICKY)))


def _allowed(refused: tuple[str, ...]) -> Iterator[str]:
    if refused:
        yield "What was refused before, and is allowed now:"
        yield from (f"  {one}" for one in refused)
