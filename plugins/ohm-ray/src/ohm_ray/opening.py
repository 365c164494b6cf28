"""The connection of this process to a Ray cluster, and the backend on it."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from anyio import CancelScope, to_thread

from ohm_ray.actors import Actors
from ohm_ray.backend import open_pool
from ohm_ray.calls import NAMESPACE, silent, unreachable
from ohm_ray.directories import Directory
from ohm_ray.ledgers import Ledgers
from ohm_ray.signals import kept_sigterm
from ohm_subagents.plugin import Err, OhmError, Ok
from ohm_subagents.workspaces import GitWorkspaces

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from types import ModuleType

    from ohm_ray.options import RayOptions
    from ohm_ray.services import Services
    from ohm_subagents.plugin import Backend, Result

LOCAL: Final = "local"
TOKEN: Final = "RAY_AUTH_TOKEN"  # noqa: S105  the name of it
TOKEN_FILE: Final = "RAY_AUTH_TOKEN_PATH"  # noqa: S105  as above
MODE: Final = "RAY_AUTH_MODE"
LOOPBACK: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
RECONNECTS: Final = "RAY_gcs_rpc_server_reconnect_timeout_s"
FOR_EVER_S: Final = 1_000_000
"""Seconds for which Ray waits for a head that is gone. Then it ends this process, without a word to it."""
OBJECT_STORE_BYTES: Final = 100_000_000
_LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")


class _Connection:
    """The connection of this process, which has one at most; all its `Ohm`s share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._address = ""
        self._is_ours = False
        self._variables: dict[str, str | None] = {}
        self._directory: Directory | None = None
        self._has_imported = False

    def join(self, address: str, env: Mapping[str, str]) -> Result[ModuleType, OhmError]:
        """Return Ray, connected to the cluster. Blocks: to start a cluster takes some seconds."""
        with self._lock:
            if self._users and address != self._address:
                return Err(unreachable(f"This process is connected to the cluster '{self._address}', and to one only."))
            if not self._users:
                failed = self._connect(address, env)
                if failed is not None:
                    self._disconnect()
                    return Err(failed)
                self._address = address
            self._users += 1
            return Ok(_ray())

    def leave(self) -> None:
        """End the connection with its last user, and with it a cluster that was started for it. Blocks."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._disconnect()

    def _connect(self, address: str, env: Mapping[str, str]) -> OhmError | None:
        is_late = self._is_late(address)
        self._set("RAY_USAGE_STATS_ENABLED", "0")
        self._set(MODE, "token")
        self._set(RECONNECTS, f"{FOR_EVER_S}")
        if address == LOCAL:
            self._set(TOKEN, token_hex(32))
        elif not self._authenticate(env):
            return unreachable(
                f"The cluster '{address}' is not joined without a token.",
                f"Set {TOKEN} to the token that the cluster was started with, or {TOKEN_FILE} to a file that has it.",
            )
        if _is_on_loopback(address):
            self._set(LOOPBACK, "0")  # else it listens on all interfaces, whatever address it is given
        ray = _ray()
        if ray.is_initialized():
            return None
        if is_late:
            return unreachable(
                f"This program imported ray before its first run on the backend 'ray', and without {MODE}=token and "
                f"{LOOPBACK}=0 in its environment, which Ray reads at that moment alone.",
                "Set both in the environment of the program, or import ray after that run.",
            )
        if address != LOCAL and (refused := _refused(ray, address)) is not None:
            return refused
        log = logging.getLogger("ray")
        level = log.level
        log.setLevel(logging.ERROR)  # it warns of the handler of signals, which it shall not set
        self._is_ours = True
        _let_print(is_allowed=False)
        try:
            with kept_sigterm():
                ray.init(
                    address=address,
                    namespace=NAMESPACE,
                    configure_logging=False,
                    log_to_driver=False,
                    **(self._of_local() if address == LOCAL else {}),
                )
        except Exception as error:  # noqa: BLE001  of any kind, by what is wrong with the cluster
            return _unjoined(address, error)
        finally:
            log.setLevel(level)
        return None

    def _is_late(self, address: str) -> bool:
        """Return True if somebody else has imported Ray, with other settings than it is to have."""
        self._has_imported = self._has_imported or "ray" not in sys.modules
        wanted = {MODE: "token"} | ({LOOPBACK: "0"} if _is_on_loopback(address) else {})
        here = os.environ  # noqa: TID251  the only place where Ray looks
        return not self._has_imported and any(here.get(name) != one for name, one in wanted.items())

    def _of_local(self) -> dict[str, Any]:
        self._directory = Directory()
        return {
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE_BYTES,
            "_temp_dir": str(self._directory.path),
            "_node_ip_address": "127.0.0.1",
        }

    def _authenticate(self, env: Mapping[str, str]) -> bool:
        """Tell whether there is a token; Ray reads it from the environment of the process alone."""
        for name in (TOKEN, TOKEN_FILE):
            if env.get(name):
                self._set(name, env[name])
                return True
        return os.path.isfile(Path.home() / ".ray" / "auth_token")

    def _set(self, name: str, value: str) -> None:
        if os.environ.get(name) != value:  # noqa: TID251  the only way to tell Ray
            self._variables.setdefault(name, os.environ.get(name))  # noqa: TID251  as below
            os.environ[name] = value  # noqa: TID251  as above

    def _disconnect(self) -> None:
        if self._is_ours:
            _ray().shutdown()
            _let_print(is_allowed=True)
            self._is_ours = False
        for name, value in self._variables.items():
            if value is None:
                os.environ.pop(name, None)  # noqa: TID251  as above
            else:
                os.environ[name] = value  # noqa: TID251  as above
        self._variables.clear()
        if self._directory is not None:
            self._directory.remove()
            self._directory = None


_connection = _Connection()


@asynccontextmanager
async def opened(
    options: RayOptions, env: Mapping[str, str], services: Services
) -> AsyncGenerator[Result[Backend, OhmError]]:
    """Join the cluster, and open a backend on its runners; or return why it cannot be joined."""
    clones = GitWorkspaces.of(env) if options.workspace == "bundle" else Ok(None)
    if isinstance(clones, Err):
        yield clones
        return
    joined = await to_thread.run_sync(_connection.join, options.address, env)
    if isinstance(joined, Err):
        yield joined
        return
    try:
        actors = Actors(joined.ok_value, options, services)
        ledger = Ledgers(joined.ok_value, options.pool, idle_s=options.ledger_idle_s)
        async with open_pool(actors, options, services=services, clones=clones.ok_value, ledger=ledger) as backend:
            yield Ok(backend)
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(_connection.leave)


def _is_on_loopback(address: str) -> bool:
    return address == LOCAL or address.startswith(_LOOPBACK_HOSTS)


def _refused(ray: ModuleType, address: str) -> OhmError | None:
    """Return an error if the head of a cluster cannot be asked, or refuses the token: Ray would try for 20 seconds."""
    try:
        found = import_module("ray._private.services").canonicalize_bootstrap_address_or_die(address)
        if (nobody := silent(found)) is not None:
            return nobody
        import_module("ray._raylet").GcsClient(address=found)
    except ray.exceptions.AuthenticationError:
        return unreachable(
            f"The Ray cluster '{address}' refuses the token of this program.",
            f"Set {TOKEN} to the token that the cluster was started with, or {TOKEN_FILE} to a file that has it.",
        )
    except (ConnectionError, ray.exceptions.RayError) as error:
        return _unjoined(address, error)
    return None


def _unjoined(address: str, error: Exception) -> OhmError:
    return unreachable(
        f"The Ray cluster '{address}' cannot be joined. {type(error).__name__}: {error}",
        f"See that it runs, and that {TOKEN} is the token that it was started with.",
    )


def _let_print(*, is_allowed: bool) -> None:
    """Let Ray print, or not, what its nodes tell: that goes to the standard output, which is a protocol in `ohm mcp`.

    `log_to_driver` is about what workers print; of workers and nodes that die Ray tells in any case.
    """
    vars(import_module("ray._private.worker"))["_worker_logs_enabled"] = is_allowed


def _ray() -> ModuleType:
    return import_module("ray")
