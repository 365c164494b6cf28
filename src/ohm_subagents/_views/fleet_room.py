"""The rows of a table that there is room for, and those that are only counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._views.fleet_row import fleet_ranks
from ohm_subagents._views.work_facts import sight_rank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ohm_subagents._views.fleet_row import FleetRow
    from ohm_subagents._views.work_facts import State
    from ohm_subagents.contract.ids import TaskId

_NEEDY: Final = ("asking", "stuck", "failed")
"""These have a line below them before others, at which nobody has to look, have any."""
_LEAST_ROWS: Final = 3


class Sight(NamedTuple):
    """The rows that are shown, in their order."""

    shown: Sequence[FleetRow]
    above: int = 0
    """So many are left out before the first one, to have the chosen one in sight."""
    rest: Sequence[FleetRow] = ()
    """All others that are left out."""

    @property
    def lines(self) -> int:
        """The number of lines of the rows, and of those that count others."""
        return len(self.shown) + bool(self.above) + bool(self.rest)


def in_sight(
    ordered: Sequence[FleetRow], states: Mapping[TaskId, State], *, room: int, chosen: str | None, with_work: bool
) -> Sight:
    """Return the rows to show in `room` lines; those that need nobody are left out first.

    Where what they do is told `with_work`, those that need somebody keep a line for it. The chosen one is always shown,
    with those around it where it would be left out.
    """
    ranks = fleet_ranks(ordered, states)
    busy = sum(rank < sight_rank("queued") for rank in ranks.values())
    needy = sum(states[row.listed.id] in _NEEDY for row in ordered) if with_work else 0
    room_for_rows = room - min(needy, max(0, room - 1 - busy))
    if len(ordered) <= room_for_rows:
        return Sight(ordered)
    ranked = sorted(range(len(ordered)), key=lambda at: (ranks[ordered[at].listed.id], at))
    kept = {*ranked[: max(min(1, room), room_for_rows - 1)]}
    at = next((at for at, row in enumerate(ordered) if row.listed.id == chosen), None)
    if at is None or at in kept:
        shown, rest = ([row for at, row in enumerate(ordered) if (at in kept) is is_kept] for is_kept in (True, False))
        return Sight(shown, 0, rest)
    start, end = _around(len(ordered), room_for_rows, at)
    return Sight(ordered[start:end], start, ordered[end:])


def _around(total: int, room: int, chosen: int) -> tuple[int, int]:
    """Return the first row that is shown, and the one behind the last: a line each counts those before and after."""
    if room < _LEAST_ROWS:
        return (chosen, chosen + 1) if room else (0, 0)
    if chosen < room - 1:
        return 0, room - 1
    if chosen > total - room:
        return total - room + 1, total
    start = chosen - (room - 2) // 2
    return start, start + room - 2
