"""The `ohm` command: its installed entry point called in this process, or the program itself in one of its own.

Called in this process it has what a process of its own would have: streams, arguments, environment, directory, the
import path of `PYTHONPATH`; and leaves none of it behind. What would end a process with a traceback is raised.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import IO, TYPE_CHECKING
from unittest.mock import patch

import typer.main

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXECUTABLE = Path(sys.executable).with_name("ohm")
PATIENCE_S = 60
STREAMS = ("stdin", "stdout", "stderr")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The end of a command."""

    returncode: int
    stdout: str
    stderr: str


def in_this_process(*arguments: str, cwd: Path, env: Mapping[str, str], stdin: bytes = b"") -> Done:
    with ExitStack() as stack:
        given, said, told = (stack.enter_context(TemporaryFile()) for _ in STREAMS)
        given.write(stdin)
        given.seek(0)
        with _streams(given, said, told), _started(arguments, cwd, env):
            returncode = _ended(_installed())
        return Done(returncode=returncode, stdout=_written(said), stderr=_written(told))


def in_a_process(*arguments: str, cwd: Path, env: Mapping[str, str], stdin: bytes = b"") -> Done:
    done = subprocess.run(
        [str(EXECUTABLE), *arguments],
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Done(returncode=done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode())


@cache
def _installed():
    (entry_point,) = entry_points(group="console_scripts", name="ohm")
    return entry_point.load()


_parameters = cache(typer.main.get_params_from_function)
"""Of a function its options and arguments: a process reads them once from its signature, and a worker too."""


def _ended(main) -> int:
    """The exit code, by the rules of `sys.exit`."""
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        return 1
    return (code or 0) & 0xFF


def _written(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


@contextmanager
def _streams(*files: IO[bytes]) -> Iterator[None]:
    """The three of them: the descriptors, which children inherit, and what Python has on top."""
    kept = [os.dup(number) for number in range(len(STREAMS))]
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    stdin, stdout, stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  closed below
        for number, mode in enumerate("rww")
    )
    try:
        with patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr):
            yield
    finally:
        for stream in (stdin, stdout, stderr):
            stream.close()
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)


@contextmanager
def _started(arguments: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> Iterator[None]:
    """The rest of what a process is started with."""
    before = Path.cwd(), sys.modules["__main__"], gc.get_threshold()
    places = [place for place in env.get("PYTHONPATH", "").split(os.pathsep) if place]
    program = ModuleType("__main__")
    program.__file__ = str(EXECUTABLE)
    os.chdir(cwd)
    sys.modules["__main__"] = program
    try:
        with (
            patch.dict(os.environ, env, clear=True),
            patch.object(sys, "argv", [str(EXECUTABLE), *arguments]),
            patch.object(typer.main, "get_params_from_function", _parameters),
            _import_path(places),
        ):
            yield
    finally:
        folder, sys.modules["__main__"], threshold = before
        os.chdir(folder)
        gc.set_threshold(*threshold)
        atexit.unregister(gc.freeze)


@contextmanager
def _import_path(places: list[str]) -> Iterator[None]:
    """These places first; what was imported from them is forgotten again."""
    importlib.invalidate_caches()
    within, before = tuple(f"{place}/" for place in places), {*sys.modules}
    with patch.object(sys, "path", [*places, *sys.path]):
        try:
            yield
        finally:
            for name in sys.modules.keys() - before:
                if (getattr(sys.modules[name], "__file__", None) or "").startswith(within):
                    del sys.modules[name]
            for place in places:
                sys.path_importer_cache.pop(place, None)
