"""The choice of tasks that a list of the page shows; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ohm_subagents.contract import ListedTask


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """A choice of tasks; an empty field chooses all."""

    text: str = ""
    """Each word of it is in the id, the profile, the description, the model or the session, in any case."""
    statuses: frozenset[str] = frozenset()
    """The status, or what is amiss, is one of these."""
    profile: str = ""
    """The profile."""
    session: str = ""
    """The session."""

    @property
    def are_any(self) -> bool:
        """True if a task may be left out whatever its status is."""
        return bool(self.text or self.profile or self.session)

    def matches(self, task: ListedTask) -> bool:
        """Return True for a task that they choose, whatever its status is."""
        if self.profile not in {"", task.profile} or self.session not in {"", task.session_id}:
            return False
        if not self.text:
            return True
        said = f"{task.id} {task.profile} {task.description} {task.model or ''} {task.session_id}".casefold()
        return all(word in said for word in self.text.casefold().split())
