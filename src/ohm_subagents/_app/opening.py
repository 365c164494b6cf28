"""Opening an engine: the choices of a program, and their defaults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from os import PathLike, fsdecode
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Final, TypedDict, cast
from uuid import UUID

from ohm_subagents._app.assembly import assemble
from ohm_subagents._app.embedder import IdMakers, SteadyHost, steady_clock
from ohm_subagents._app.lifetime import working_engine
from ohm_subagents._app.options import RunOptions
from ohm_subagents._app.sources import ConfigSource, Sources, env_of, source_of, system_clock
from ohm_subagents._config.mcp_servers import McpServer
from ohm_subagents._orchestrator.observe.host_faults import HostFaults
from ohm_subagents._orchestrator.observe.logger import HostLogger, Logger, SteadyLogger
from ohm_subagents._plugins.stores import Store
from ohm_subagents._plugins.suites.embedding import Host
from ohm_subagents._tools.live_ui import LiveUi
from ohm_subagents.contract.ids import Clock
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.requests import Answer, Request
from ohm_subagents.contract.result import Err
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_subagents._app.engine import Engine
    from ohm_subagents._app.served.link import Link


class ProgramObjects(TypedDict, total=False):
    """The objects and functions of a program that an `Ohm` uses."""

    clock: Clock | None
    """Gives epoch milliseconds, for stamps; deadlines follow the event loop."""
    new_task_id: Callable[[], str] | None
    """Makes the id of a task."""
    new_uuid: Callable[[], UUID] | None
    """Makes the ids of sessions."""
    store: Store | None
    """The store of tasks, in place of the configured one; you close it."""
    host: Host | None
    """Shows who works, if `uiMode` says so, and is there for suites; see `Ohm.emit`."""
    logger: Logger | None
    """A structlog logger, in place of the program's default one."""
    approvals: Callable[[Request], Awaitable[Answer]] | None
    """Answers the requests of subagents: gets each one, and returns `Approve`, `Deny` or `Text`. One that raises, or
    returns anything else, denies; one that is too slow is no answer, and `Ohm.answer` may come before it. Requests of
    tasks in `cwd`, or below, whose process has ended are put to it first, and these tasks go on here."""


class OpenOptions(ProgramObjects, total=False):
    """The keyword arguments of `Ohm.open`; all may be left out."""

    cwd: Path | str | None
    """The directory that subagents work in; that of the process by default. One that cannot be read is among
    `diagnostics`, and the answer of each run on a backend that works on files."""
    config: ConfigSource
    """A mapping or the path of a file, in place of the user's and the project's ohm.json."""
    env: Mapping[str, str] | None
    """The environment, keys included; that of the process by default."""
    plugins: Iterable[object]
    """Objects or modules with hooks, besides the plugins that are installed."""
    suites: Iterable[str] | None
    """The tool suites for the parent agent, in place of those configured."""
    profiles: Iterable[Profile] | None
    """The whole catalogue of profiles, in place of the files'."""
    trust: bool
    """Trust the project, as `ohm trust` does."""
    server: Path | str | None
    """`auto` for the server of your user (`ohm serve`), started if there is none; or the path of its socket. It owns
    the tasks, which outlive this program. It calls `approvals` and functions in `tools` while this program is there,
    and gets `profiles` and `mcp_servers`; other objects of the program cannot be given to it."""
    mcp_servers: Mapping[str, McpServer]
    """MCP servers besides those of ohm.json, in place of its servers of the same names (`ohm_subagents.config`)."""


_KINDS: Final[Mapping[str, tuple[type | tuple[type, ...], str]]] = {
    "cwd": ((str, PathLike), "a path"),
    "env": (Mapping, "a mapping of variables"),
    "plugins": (Iterable, "a list of objects or modules with hooks"),
    "suites": (Iterable, "a list of names of tool suites"),
    "profiles": (Iterable, "a list of Profile objects"),
    "trust": (bool, "True or False"),
    "server": ((str, PathLike), "'auto', or the path of a socket"),
    "mcp_servers": (Mapping, "a mapping of names to McpServer objects"),
}
"""The options that are no objects of a protocol: their types, and these in words."""

_NOT_SERVED: Final = ("plugins", "clock", "new_task_id", "new_uuid", "store")
"""The options that are functions or objects of the program, which a server in another process does not have."""


def changed(
    former: Sources,
    *,
    config: ConfigSource | EllipsisType,
    env: Mapping[str, str] | EllipsisType | None,
    profiles: Iterable[Profile] | EllipsisType | None,
) -> Sources:
    """Return the sources with what is given in place of theirs; what is `...` stays."""
    return replace(
        former,
        config=former.config if isinstance(config, EllipsisType) else source_of(config),
        env=former.env if isinstance(env, EllipsisType) else env_of(env),
        profiles=former.profiles if isinstance(profiles, EllipsisType) else _catalogue(profiles),
    )


def _catalogue(profiles: Iterable[Profile] | None) -> tuple[Profile, ...] | None:
    catalogue = None if profiles is None else tuple(profiles)
    for one in catalogue or ():
        if not isinstance(cast("object", one), Profile):
            wrong = f"profiles has {one!r:.60}; allowed: Profile objects, in place of all others."
            raise TypeError(wrong)
    return catalogue


def _check_kinds(options: OpenOptions) -> None:
    """Raise TypeError for the first option of a wrong type."""
    if isinstance(options.get("store"), str):
        wrong = f"store is the text {options.get('store')!r:.60}; allowed: a Store. `config` has the name of one: "
        raise TypeError(wrong + '{"subagents": {"store": "sqlite"}}.')
    approvals: object = options.get("approvals")
    if approvals is not None and not callable(approvals):
        wrong = f"approvals is {approvals!r:.60}; allowed: an async function of a Request, or None."
        raise TypeError(wrong)
    for name in _NOT_SERVED if options.get("server") is not None else ():
        if options.get(name) not in (None, ()):
            instead = "Set subagents.store" if name == "store" else "Install a plugin"
            wrong = f"{name} cannot be given to the server of an Ohm. {instead}, or open it without `server`."
            raise TypeError(wrong)
    for name, (kinds, allowed) in _KINDS.items():
        value = options.get(name)
        if value is not None and not isinstance(value, kinds):
            wrong = f"{name} is {value!r:.60}; allowed: {allowed}, or None."
            raise TypeError(wrong)


def _check_texts(options: OpenOptions) -> None:
    """Raise ValueError for the first path, or variable, that the system cannot take."""
    for name in ("cwd", "config", "server"):
        given = options.get(name)
        path = fsdecode(cast("str | PathLike[str]", given)) if isinstance(given, str | PathLike) else ""
        if "\0" in path:
            wrong = f"{name} is {path!r:.200}, which holds a NUL, as no path can. Give another one."
            raise ValueError(wrong)
    for name, value in (options.get("env") or {}).items():
        if "\0" in f"{name}{value}":
            wrong = f"env has {name!r:.60} with a NUL in its name or value, as no environment can. Leave it out."
            raise ValueError(wrong)


def _link_of(server: Path | str | None, sources: Sources) -> AbstractAsyncContextManager[Link | None]:
    if server is None:
        return nullcontext()
    from ohm_subagents._app.served.link import served_by  # noqa: PLC0415  most have no server

    return served_by(server, sources)


@asynccontextmanager
async def opened_engine(options: OpenOptions) -> AsyncGenerator[Engine]:
    """Open an engine.

    Raises TypeError for an unknown option, bad plugins and a `config` of a wrong type, and ValueError for a NUL in a
    path or in `env`.
    """
    for name in options.keys() - OpenOptions.__annotations__.keys():
        of_a_run = name in RunOptions.__annotations__
        meant = "Ohm.run and Ohm.start have it." if of_a_run else did_you_mean(name, OpenOptions.__annotations__)
        unknown = f"Ohm.open() got an unexpected keyword argument '{name}'. {meant}".rstrip()
        raise TypeError(unknown)
    _check_kinds(options)
    _check_texts(options)
    suites, sources = options.get("suites"), _sources(options, lambda: engine)
    async with (
        _link_of(options.get("server"), sources) as link,
        working_engine(
            assemble(sources),
            store=options.get("store"),
            ids=IdMakers(options.get("new_task_id"), options.get("new_uuid")),
            suites=None if suites is None else (suites,) if isinstance(suites, str) else tuple(suites),
            link=link,
        ) as engine,
    ):
        _log_config(engine)
        yield engine


def _log_config(engine: Engine) -> None:
    """Log what of ohm.json is not honoured as written: the program may never read `Ohm.diagnostics`."""
    loaded, log = engine.assembly.loaded, engine.assembly.sources.logger
    if isinstance(loaded, Err):
        log.error("config.not_loaded", diagnostic=str(loaded.err_value))
        return
    for told in loaded.ok_value.diagnostics:
        write = log.info if told.severity == "info" else log.warning
        write("config.diagnostic", subject=told.subject, diagnostic=told.text)


def _sources(options: OpenOptions, engine: Callable[[], Engine]) -> Sources:
    faults = HostFaults()
    cwd, clock = options.get("cwd"), options.get("clock")
    log = SteadyLogger(options.get("logger") or HostLogger(), faults)
    now = system_clock if clock is None else steady_clock(clock, faults)
    host, live_ui = options.get("host"), None
    steady_host = None if host is None else SteadyHost(host, faults)
    if steady_host is not None:
        live_ui = LiveUi(
            steady_host,
            tasks=lambda: tuple(engine().store.recent()),
            settings=lambda: engine().assembly.config,
            clock=now,
            logger=log,
        )
    return Sources(
        cwd=Path.cwd() if cwd is None else Path(cwd),
        config=source_of(options.get("config")),
        env=env_of(options.get("env")),
        plugins=tuple(options.get("plugins", ())),
        profiles=_catalogue(options.get("profiles")),
        logger=log,
        clock=now,
        faults=faults,
        host=steady_host,
        given_host=host,
        live_ui=live_ui,
        trusts=options.get("trust", False),
        approvals=options.get("approvals"),
        mcp_servers=dict(options.get("mcp_servers", {})),
    )
