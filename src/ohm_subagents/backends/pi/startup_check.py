"""A check of the installed `pi`, without an event loop."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from ohm_subagents.backends.pi.options import INSTALL
from ohm_subagents.backends.pi.probe import PiVersion, identity, read_version, unserved, unusable
from ohm_subagents.plugin import Err, OhmError, Result
from ohm_subagents.redaction import secrets_of
from ohm_subagents.shell import start_failure, with_default_signals

if TYPE_CHECKING:
    from collections.abc import Mapping


PATIENCE_S: Final = 10
_SHOWN: Final = ("PATH", "HOME")


def trouble(command: tuple[str, ...], mode: str, env: Mapping[str, str]) -> OhmError | None:
    """Return why a command cannot be used in this mode (it does not start, hangs, or is too old), or None."""
    shown = tuple((name, env[name]) for name in _SHOWN if name in env)
    found = _asked(command, shown, identity(command, Path.cwd()))
    return found.err_value if isinstance(found, Err) else unserved(mode, found.ok_value)


@lru_cache(maxsize=8)
def _asked(
    command: tuple[str, ...], env: tuple[tuple[str, str], ...], _identity: tuple[object, ...]
) -> Result[PiVersion, OhmError]:
    """Its release. Asked once of each command, until its files change."""
    called = " ".join(command)
    try:
        with TemporaryDirectory(prefix="ohm-pi-", ignore_cleanup_errors=True) as folder:
            done = subprocess.run(  # noqa: S603  the command that the user's own file names
                with_default_signals((*command, "--version")),
                cwd=folder,
                env={**dict(env), "PI_OFFLINE": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=PATIENCE_S,
                check=False,
            )
        why = start_failure(command, done.returncode, done.stderr)
    except subprocess.TimeoutExpired:
        return Err(_silent(f'The command "{called}" does not say its version within {PATIENCE_S} s'))
    except (OSError, ValueError) as error:
        return Err(_unstarted(called, getattr(error, "strerror", None) or f"{error}"))
    if why is not None:
        return Err(_unstarted(called, why))
    return read_version(
        called, done.returncode, f"{done.stdout}\n{done.stderr}", usage="", secrets=secrets_of(dict(env))
    )


def _unstarted(called: str, why: str) -> OhmError:
    return _silent(f'The command "{called}" does not start as pi: {why}')


def _silent(fact: str) -> OhmError:
    return unusable(fact, f"Install it again ({INSTALL})")
