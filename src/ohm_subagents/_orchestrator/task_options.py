"""Options that a program gives for the tasks of a tool call, and what they change in its command."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents.contract.commands import NO_OVERRIDES, Overrides, Session, Start, StartItem
from ohm_subagents.contract.profile import Profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.contract.ids import TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """Options that a program gives for the tasks of a tool call, beside the arguments of the tool.

    Fields:
        overrides: the directory, the tools and the schema of the answer, for each task that names none.
        session: the session of each task that names none.
        parent: the task that those of the call are below.
        profiles: profiles by the ids that the arguments have in their place.
        background_after_ms: the time after which the call returns, though its tasks go on.
        named: the options by name, those that the program has given.
    """

    overrides: Overrides = NO_OVERRIDES
    session: Session | None = None
    parent: TaskId | None = None
    profiles: Mapping[str, Profile] = field(default_factory=dict[str, Profile])
    background_after_ms: int | None = None
    named: tuple[str, ...] = ()

    def complete(self, command: Start) -> Start:
        """Return the command of a tool with these options."""
        if self is NO_OPTIONS:
            return command
        items = tuple(map(self._completed, command.items))
        parent, after_ms = command.parent or self.parent, self.background_after_ms
        return replace(command, items=items, parent=parent, background_after_ms=after_ms)

    def _completed(self, item: StartItem) -> StartItem:
        said, own = self.overrides, item.overrides
        profile = item.profile if isinstance(item.profile, Profile) else self.profiles.get(item.profile, item.profile)
        overrides = replace(
            own,
            parent_model=own.parent_model or said.parent_model,
            cwd=own.cwd or said.cwd,
            tools=(*own.tools, *said.tools),
            tool_names=(*own.tool_names, *said.tool_names),
            allow=said.allow,
            deny=said.deny,
            accept=said.accept if own.accept is None else own.accept.joined(said.accept),
            result_schema=said.result_schema,
            misfit=said.misfit,
        )
        return replace(item, profile=profile, overrides=overrides, session=item.session or self.session)


NO_OPTIONS: Final = TaskOptions()
