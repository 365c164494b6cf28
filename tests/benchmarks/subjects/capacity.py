"""The constants of the capacity model: what one task costs, in process and at a runner behind a loopback transport."""

import sys
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from stopwatch import peak, repeating
from subjects.ours import ARGUMENTS, PROFILE, WaitingEcho, opened

import ohm_postgres
from ohm_subagents import Ohm
from ohm_subagents.plugin import BackendSpec, Options, hookimpl
from ohm_subagents.remote import LoopbackTransport, open_remote, open_runner, remote_capabilities

AT_ONCE = 100


class Behind:
    """Backend `waiting`, an echo after a short wait, at a runner behind a loopback transport."""

    def __init__(self, delay_s=0.0):
        (self._spec,) = WaitingEcho(delay_s).ohm_backends()

    @asynccontextmanager
    async def _open(self, options):
        async with (
            open_runner(self._spec, options) as runner,
            open_remote(LoopbackTransport(runner)) as remote,
        ):
            yield remote

    @hookimpl
    def ohm_backends(self):
        capabilities = remote_capabilities(self._spec.capabilities)
        return (
            BackendSpec(
                id=self._spec.id,
                summary="An echo behind a loopback.",
                options=Options,
                open=self._open,
                capabilities=capabilities,
            ),
        )


PLUGINS = {"in process": WaitingEcho, "loopback": Behind}


@asynccontextmanager
async def echoes(way="in process", store="memory", count=AT_ONCE):
    """Seconds for one echo task of `count` that are started at once, without those of a database server."""
    with ExitStack() as stack:
        env = {}
        if store == "postgres":
            sys.path.append(str(Path(__file__).parents[2] / "support"))
            from postgres_server import running_server

            env["OHM_POSTGRES_URL"] = stack.enter_context(running_server()).url
        plugins = [PLUGINS[way](0.0), ohm_postgres]
        async with opened(plugins=plugins, backend="waiting", store=store, env=env) as ohm:
            yield repeating(partial(_burst, ohm, count), 3, parts=count)


@asynccontextmanager
async def growth(count=10_000, store="sqlite"):
    """Bytes of the store for one echo task of `count`."""

    async def work():
        with TemporaryDirectory(prefix="ohm-bench-") as folder:
            settings = {"taskMaxEntries": count, "subagents": {"store": store}}
            async with Ohm.open(
                cwd=folder,
                config={"subagentBackend": "none", **settings},
                env={"PI_CONFIG_DIR": folder, "OHM_SUBAGENTS_LOAD_PLUGINS": "none"},
                profiles=[PROFILE],
            ) as ohm:
                for _ in range(count // AT_ONCE):
                    await _burst(ohm, AT_ONCE)
            return _size(folder) / count

    yield work


@asynccontextmanager
async def memory(way="in process", count=1000, at_once=16, delay_s=0.001):
    """Peak bytes for one of `count` tasks, of which `at_once` run at a time; traced, so only Python's own."""
    settings = {"maxRunning": at_once, "asyncStart": "allow"}

    async def work():
        async with opened(plugins=[PLUGINS[way](delay_s)], backend="waiting", subagents=settings) as ohm:
            await _burst(ohm, 1)
            with peak() as traced:
                for handle in [await ohm.start("worker", ARGUMENTS["prompt"]) for _ in range(count)]:
                    await handle.wait()
        return traced.bytes / count

    yield work


def _size(folder):
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


async def _burst(ohm, count):
    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(_one, ohm)


async def _one(ohm):
    (await ohm.run("worker", ARGUMENTS["prompt"])).unwrap()
