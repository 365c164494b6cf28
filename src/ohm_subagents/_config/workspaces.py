"""The part of `subagents` that is about the files of tasks."""

from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field

from ohm_subagents._config.merge import CLONE_UNLESS_TRUSTED, INTERSECT_UNLESS_TRUSTED, ONLY_NEVER
from ohm_subagents._config.section import Section
from ohm_subagents._config.values import text_of
from ohm_subagents.contract.workspace import Isolation, Land

PathPattern: TypeAlias = Annotated[
    str,
    BeforeValidator(text_of(r"(?!/|~|(.*/)?\.\.(/|$))[^\0]+", "a path or a pattern below the top of the repository")),
]
"""A path as git takes it by `:(glob)`."""


class Workspaces(Section):
    """The files that subagents work on."""

    isolation: Annotated[Isolation, CLONE_UNLESS_TRUSTED] = Field(
        default="none",
        description="The files of subagents: those of their directory, or with `clone` for each task a clone of them, "
        "whose changes are kept apart; a profile and a call may ask for it too.",
    )
    clone_includes: Annotated[tuple[PathPattern, ...], INTERSECT_UNLESS_TRUSTED] = Field(
        default=(),
        description="Ignored files that a clone has all the same, such as `.env.test` or `node_modules`: paths and "
        "patterns below the top of the repository. What a task changes in them is not kept.",
    )
    land: Annotated[Land | None, ONLY_NEVER] = Field(
        default=None,
        description="The landing of what a task did in its clone, at the end of a run that succeeded: `clean` where it "
        "fits into the files as they are then, `ask` once somebody has agreed, `never`; null: as the profile or "
        "the call says, or never.",
    )
