"""A plugin that declares a hook with an argument which the hook does not pass."""

from collections.abc import Iterable

from ohm_subagents.plugin import BackendSpec, hookimpl


@hookimpl
def ohm_backends(registry: object) -> Iterable[BackendSpec]:
    return ()
