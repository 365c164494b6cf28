"""Tasks that work on a clone of the files."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import anyio

from ohm_subagents import Ohm
from ohm_subagents.backends.echo import EchoBackend
from ohm_subagents.plugin import BackendSpec, Ok, Options, hookimpl

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator

    from ohm_subagents.contract import ModelPattern, OhmError, Profile, Result
    from ohm_subagents.contract.workspace import Isolation
    from ohm_subagents.plugin import RunOutput, RunRequest, Sink

REPOSITORY = Path(__file__).parents[3]
FILES, FILE_BYTES = 50_000, 20_000


class Noting:
    """Backend `noting`: an echo that notes when its run begins."""

    began = 0.0

    @hookimpl
    def ohm_backends(self) -> tuple[BackendSpec, ...]:
        return (BackendSpec(id="noting", summary="", options=Options, open=self._open),)

    @asynccontextmanager
    async def _open(self, _options: Options) -> AsyncGenerator[Noting]:
        yield self

    async def prepare(self, _profile: Profile, _model: ModelPattern | None) -> Result[None, OhmError]:
        return Ok(None)

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        self.began = perf_counter()
        return await EchoBackend().run(request, sink)


@asynccontextmanager
async def ran(isolation: Isolation = "clone") -> AsyncGenerator[Callable[[], Awaitable[dict[str, float]]]]:
    """Seconds for one echo task, with a clone of this repository or without."""
    async with _opened() as (ohm, _, parent):
        git(parent.parent, "clone", "-q", "--no-hardlinks", f"{REPOSITORY}", f"{parent}")

        async def repeat() -> dict[str, float]:
            begun, used = perf_counter(), process_time()
            (await ohm.run("finder", "Do it.", cwd=parent, isolation=isolation)).unwrap()
            return {"wall": perf_counter() - begun, "cpu": process_time() - used}

        yield repeat


@asynccontextmanager
async def waited() -> AsyncGenerator[Callable[[], Awaitable[float]]]:
    """Seconds from the call until the backend runs in a clone of many files."""
    async with _opened() as (ohm, noting, parent):
        git(parent.parent, "init", "-q", "-b", "main", f"{parent}")
        git(parent, "-c", "core.compression=0", "fast-import", "--quiet", stdin=history())
        git(parent, "reset", "-q", "--hard")

        async def repeat() -> float:
            begun = perf_counter()
            (await ohm.run("finder", "Do it.", cwd=parent, isolation="clone")).unwrap()
            return noting.began - begun

        yield repeat


@asynccontextmanager
async def waited_plainly(*, has_git: bool, is_first: bool) -> AsyncGenerator[Callable[[], Awaitable[float]]]:
    """The same where they are in no repository: for the first task that ever works there, or for one after it."""
    async with _opened(has_git=has_git) as (ohm, noting, parent):
        fill(parent)

        async def repeat() -> float:
            if is_first:
                shutil.rmtree(parent.with_name("cache"), ignore_errors=True)
            begun = perf_counter()
            (await ohm.run("finder", "Do it.", cwd=parent, isolation="clone")).unwrap()
            return noting.began - begun

        yield repeat


@asynccontextmanager
async def copied() -> AsyncGenerator[Callable[[], Awaitable[float]]]:
    """Seconds for a plain copy of them, which shares blocks where it can."""
    async with _opened() as (_, _, parent):
        fill(parent)

        async def repeat() -> float:
            begun = perf_counter()
            await anyio.run_process(["cp", "-a", "--reflink=auto", f"{parent}", f"{parent}.copy"])
            took = perf_counter() - begun
            shutil.rmtree(f"{parent}.copy")
            return took

        yield repeat


@asynccontextmanager
async def _opened(*, has_git: bool = True) -> AsyncGenerator[tuple[Ohm, Noting, Path]]:
    """An Ohm that reads nothing of this machine, its backend, and where the files are to be."""
    with TemporaryDirectory(prefix="ohm-bench-") as folder:
        env = {
            "PI_CONFIG_DIR": folder,
            "XDG_CACHE_HOME": f"{folder}/cache",
            "PATH": os.environ["PATH"] if has_git else folder,
        }
        env |= {"OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
        noting, config = Noting(), {"subagentBackend": "noting", "subagents": {"store": "memory"}}
        async with Ohm.open(cwd=folder, config=config, env=env, plugins=[noting]) as ohm:
            yield ohm, noting, Path(folder, "parent")


def history() -> Iterator[bytes]:
    """A commit of many files of noise, which no compression makes smaller, as git's fast-import reads it."""
    noise = random.Random(20)
    yield b"commit refs/heads/main\ncommitter b <b@localhost> 0 +0000\ndata 0\n"
    for at in range(FILES):
        yield f"M 100644 inline {at // 1000}/{at // 20 % 50}/{at}\ndata {FILE_BYTES}\n".encode()
        yield noise.randbytes(FILE_BYTES) + b"\n"


def fill(directory: Path) -> None:
    """The same files, in no repository."""
    noise = random.Random(20)
    for at in range(FILES):
        file = directory / f"{at // 1000}" / f"{at // 20 % 50}" / f"{at}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(noise.randbytes(FILE_BYTES))


def git(directory: Path, *arguments: str, stdin: Iterable[bytes] = ()) -> None:
    with subprocess.Popen(["git", *arguments], cwd=directory, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.writelines(stdin)
        process.stdin.close()
    assert process.returncode == 0, arguments
