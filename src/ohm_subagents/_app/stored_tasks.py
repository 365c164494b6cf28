"""The configured store, opened by a program that only reads what is kept."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

from ohm_subagents._app.assembly import retention_of
from ohm_subagents._app.sources import system_clock
from ohm_subagents._config.env import config_dir, process_env
from ohm_subagents._plugins.host.host import PluginHost
from ohm_subagents._plugins.stores import Store, StoreRequest
from ohm_subagents._profiles.catalog import load_catalog
from ohm_subagents._store import opening as builtin_stores
from ohm_subagents._store.opening import opened

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from ohm_subagents._config.load import LoadedConfig
    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._plugins.stores import StoreSpec


@asynccontextmanager
async def stored_tasks(loaded: LoadedConfig, *, cwd: Path) -> AsyncGenerator[Store]:
    """Open the store that a configuration names, as a reader (`StoreRequest.is_reader`).

    Tasks whose process has died are failed on the way, as the next `Ohm` would. Raises OSError where the store cannot
    be used; its text says why.
    """
    config, env = loaded.config, process_env()
    directory = config_dir(env)

    @cache
    def names() -> Mapping[str, str]:
        catalog = load_catalog(cwd=cwd, config_dir=directory, plugin_profiles=(), menu=config.subagents.menu)
        return {profile.id: profile.name for profile in catalog.profiles}

    request = StoreRequest(
        directory=directory,
        clock=system_clock,
        policy=retention_of(config),
        sync=config.subagents.store_sync,
        name_of=lambda profile_id: names().get(profile_id, profile_id),
        env=env,
        is_reader=True,
    )
    origin = loaded.origin("subagents.store")
    async with opened(config.subagents.store, _specs(config), request, origin=origin) as store:
        yield store


def _specs(config: OhmConfig) -> Mapping[str, StoreSpec]:
    """The chosen store and its predecessor; others only if it is not one of ours, since importing them takes long."""
    chosen, allows = config.subagents.store, config.allows_own_plugin
    host = PluginHost()
    host.register(builtin_stores, "stores", origin="builtin")
    host.register_own(lambda name: name == chosen and allows(name))
    if chosen in host.stores():
        predecessor = host.stores()[chosen].predecessor
        host.register_own(lambda name: name == predecessor and allows(name))
    else:
        host.register_own(allows)
        host.register_installed(config.allows_plugin)
    return host.stores()
