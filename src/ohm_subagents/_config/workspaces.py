"""The part of `subagents` that is about the files of tasks."""

from typing import Annotated

from pydantic import Field

from ohm_subagents._config.merge import CLONE_UNLESS_TRUSTED
from ohm_subagents._config.section import Section
from ohm_subagents.contract.workspace import Isolation


class Workspaces(Section):
    """The files that subagents work on."""

    isolation: Annotated[Isolation, CLONE_UNLESS_TRUSTED] = Field(
        default="none",
        description="The files of subagents: those of their directory, or with `clone` for each task a clone of them, "
        "whose changes are kept apart; a profile and a call may ask for it too.",
    )
