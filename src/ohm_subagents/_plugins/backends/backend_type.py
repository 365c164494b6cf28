"""Backend types: one plugin's code for several backends, each made by `subagents.backends.<id>` of ohm.json."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from ohm_subagents._concurrency.faults import error_line
from ohm_subagents._plugins.backends.interface import BackendSpec
from ohm_subagents._records import dataclass
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._plugins.suites.tool import JsonObject

TYPE_KEY: Final = "type"
"""The key of `subagents.backends.<id>` that names a type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendType:
    """A type of backend, of which ohm.json makes any number: `"backends": {"<id>": {"type": "<type id>", …}}`.

    Fields:
        id: the name that `type` gives in ohm.json.
        summary: one sentence for `ohm doctor`.
        instance: returns the backend of this id. Its `options` validate all that is written beside `type`. Equal specs
            for equal ids let it stay open when an `Ohm` is reconfigured.
    """

    id: str
    summary: str
    instance: Callable[[str], BackendSpec[Any]]


def written_types(options: Mapping[str, JsonObject]) -> Iterator[tuple[str, str]]:
    """Yield each backend id whose options name a type, and the type."""
    for backend_id, written in options.items():
        if isinstance(named := written.get(TYPE_KEY), str):
            yield backend_id, named


def instance_of(backend_type: BackendType, backend_id: str) -> Result[BackendSpec, str]:
    """Return the backend of this type and id, or what its plugin did instead of making one."""
    try:
        made = cast("object", backend_type.instance(backend_id))
    except Exception as error:  # noqa: BLE001  a plugin that raises costs its own features
        return Err(f"raised {error_line(error)}")
    if not isinstance(made, BackendSpec):
        return Err(f"gave {reprlib.repr(made)}, which is not a BackendSpec")
    return Ok(replace(cast("BackendSpec", made), id=backend_id, backend_type=backend_type.id))
