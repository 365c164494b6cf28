"""`subagents` of ohm.json: the place of tasks."""

from typing import Annotated, Literal

from pydantic import Field

from ohm_subagents._config.merge import USER_ONLY
from ohm_subagents._config.section import Section
from ohm_subagents._config.values import PositiveInt, ServerPlace


class Storage(Section):
    """The server and the store of tasks, and how long it keeps them."""

    server: Annotated[ServerPlace | None, USER_ONLY] = Field(
        default=None,
        description="The `--server` of commands that have one, where none is typed: `auto`, the path of a socket, or "
        "`none`. A program names its own at `Ohm.open`; not for project files.",
    )
    task_retention_ms: Annotated[PositiveInt, USER_ONLY] = Field(
        default=86_400_000, description="Time that a finished task can be looked up, in milliseconds."
    )
    store: Annotated[str, USER_ONLY] = Field(
        default="sqlite",
        min_length=1,
        description="Store of tasks: `sqlite` (a database that processes share), `snapshot` (the JSON file of one"
        " process), `memory` (nowhere), or a store of a plugin.",
    )
    store_sync: Annotated[Literal["normal", "full"], USER_ONLY] = Field(
        default="normal",
        description="`full` lets `sqlite` wait for the disk, so that a power cut loses nothing either.",
    )
