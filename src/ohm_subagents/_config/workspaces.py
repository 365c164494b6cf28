"""The part of `subagents` that is about the files of tasks."""

from typing import Annotated

from pydantic import Field

from ohm_subagents._config.merge import CLONE_UNLESS_TRUSTED, ONLY_NEVER
from ohm_subagents._config.section import Section
from ohm_subagents.contract.workspace import Isolation, Land


class Workspaces(Section):
    """The files that subagents work on."""

    isolation: Annotated[Isolation, CLONE_UNLESS_TRUSTED] = Field(
        default="none",
        description="The files of subagents: those of their directory, or with `clone` for each task a clone of them, "
        "whose changes are kept apart; a profile and a call may ask for it too.",
    )
    land: Annotated[Land | None, ONLY_NEVER] = Field(
        default=None,
        description="The landing of what a task did in its clone, at the end of a run that succeeded: `clean` where it "
        "fits into the files as they are then, `ask` once somebody has agreed, `never`; null: as the profile or "
        "the call says, or never.",
    )
