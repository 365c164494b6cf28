"""How a project's file joins what is in force: a policy at each field of the schema.

Each policy is the meet of two values: the project's, and the one in force below it. A project that its user does not
trust only tightens; every other layer replaces what is below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import JsonValue

from ohm_subagents._config.trust import COMMAND
from ohm_subagents._config.values import shown, switch

if TYPE_CHECKING:
    from ohm_subagents._config.layers import Place

Meet: TypeAlias = Callable[[JsonValue, JsonValue], JsonValue]
"""Return what counts of a project's value and the one in force."""
_TOOLLESS: Final = frozenset({"none"})
_TRUSTED: Final = frozenset({"none", "interactive-sdk"})
_NO_LIMIT: Final = Decimal("Infinity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A project's value that does not count, or not whole."""

    place: Place
    """Where it is written."""
    value: JsonValue
    """The value as it is written."""
    in_force: JsonValue
    """The value that it would have replaced."""
    origin: str
    """Where that one is written: `file:line`, or `default`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Merge:
    """A policy, given as metadata of a field; the fields of a section have that of the section, or one of their own."""

    trusted: Meet
    """For a project that its user trusts."""
    untrusted: Meet
    """For one that its user does not trust."""
    because: Callable[[Refused], str]
    """Say why a value does not count, and what would help, after `'key' is value, which has no effect: `."""
    project: str
    """In the reference: what a project's file may do with the field."""
    quotes: bool = True
    """Quote the value in the diagnostic; False where it may hold a secret."""
    users_members: frozenset[str] = frozenset()
    """Keys of a mapping that no project sets."""
    is_ceiling: bool = False
    """Where nothing is in force, the value lowers what a profile's file says."""

    def message(self, refused: Refused) -> str:
        """Name the key and the value, and say why it has no effect."""
        key = f"'{refused.place.key}'"
        if self is USER_ONLY:
            return f"{key} cannot be set by a project, and is ignored; set it in the user's file."
        written = f"is {shown(refused.value)}" if self.quotes else "is given"
        return f"{key} {written}, which has no effect: {self.because(refused)}."


def backend_choices(*, is_trusted: bool) -> frozenset[str]:
    """Return the backends that a project may choose besides those of its user.

    Tools of interactive-sdk work on this machine, `bash` without any bounds, so before the user trusts the project it
    moves nothing there from a backend that may keep them apart.
    """
    return _TRUSTED if is_trusted else _TOOLLESS


def backend_refusal(chosen: JsonValue) -> str:
    """Say why a project may not choose this backend, and who can."""
    advice = f", or trust the project ('{COMMAND}')" if chosen in _TRUSTED else ""
    rule = "a project chooses none, interactive-sdk once it is trusted, and what the user has chosen"
    return f"{rule}; set it in the user's file{advice}"


def amount(value: JsonValue) -> Decimal:
    """Return how much a number allows: null is no limit."""
    return _NO_LIMIT if value is None else Decimal(str(value))


def count(value: JsonValue) -> Decimal:
    """Return how much a rule of loops allows: 0 switches it off."""
    return _NO_LIMIT if value == 0 else amount(value)


def _given(given: JsonValue, _in_force: JsonValue) -> JsonValue:
    return given


def _in_force(_given: JsonValue, in_force: JsonValue) -> JsonValue:
    return in_force


def _lower(given: JsonValue, in_force: JsonValue) -> JsonValue:
    return given if amount(given) <= amount(in_force) else in_force


def _lower_count(given: JsonValue, in_force: JsonValue) -> JsonValue:
    return given if count(given) <= count(in_force) else in_force


def _higher(given: JsonValue, in_force: JsonValue) -> JsonValue:
    return given if given is not None and amount(given) >= amount(in_force) else in_force


def _both(given: JsonValue, in_force: JsonValue) -> JsonValue:
    is_off = switch(given) is False
    return given if is_off or (switch(given) and switch(in_force)) else in_force


def _common(given: JsonValue, in_force: JsonValue) -> JsonValue:
    if not isinstance(given, list) or not isinstance(in_force, list):
        return in_force
    return [one for one in given if one in in_force]


def _earlier(order: tuple[str, ...]) -> Meet:
    return lambda given, in_force: min(given, in_force, key=lambda one: order.index(str(one)))


def _backend(*, is_trusted: bool) -> Meet:
    def meet(given: JsonValue, in_force: JsonValue) -> JsonValue:
        may = given in backend_choices(is_trusted=is_trusted) or (given is None and is_trusted)
        return given if may else in_force

    return meet


def _no_trust(_refused: Refused) -> str:
    return (
        "a project that is not trusted only tightens. To allow it, set it in the user's file, or trust the project "
        f"('{COMMAND}')"
    )


def _too_high(refused: Refused) -> str:
    return f"a project's file may say at most {shown(refused.in_force)} ({refused.origin})"


def _off_below(refused: Refused) -> str:
    return "the default is false" if refused.origin == "default" else f"{refused.origin} says false"


def _unless_trusted(
    project: str, untrusted: Meet, *, quotes: bool = True, users_members: frozenset[str] = frozenset()
) -> Merge:
    return Merge(
        trusted=_given,
        untrusted=untrusted,
        because=_no_trust,
        project=f"{project}set it if trusted",
        quotes=quotes,
        users_members=users_members,
    )


REPLACE: Final = _unless_trusted("", _in_force)
"""A trusted project's value replaces the one in force; another says nothing. The policy of a field that names none."""
USER_ONLY: Final = Merge(trusted=_in_force, untrusted=_in_force, because=_no_trust, project="not set it")
"""No project sets it."""
LOWEST: Final = Merge(trusted=_lower, untrusted=_lower, because=_too_high, project="lower it")
"""The lower number counts, of any project."""
CEILING: Final = Merge(trusted=_lower, untrusted=_lower, because=_too_high, project="lower it", is_ceiling=True)
"""The same, and it is held against a profile's file as well."""
LOWEST_COUNT: Final = Merge(
    trusted=_lower_count,
    untrusted=_lower_count,
    because=lambda refused: f"{_too_high(refused)}, and not 0",
    project="lower it, not to 0",
)
"""The lower count counts, of any project; 0 is the highest."""
RULES: Final = Merge(trusted=_in_force, untrusted=_in_force, because=_no_trust, project="tighten it")
"""Rules of several files that are joined when they are read (`permissions`, `tool_rules`)."""
DENY_WINS: Final = Merge(trusted=_both, untrusted=_both, because=_off_below, project="switch it off")
"""Any project switches it off, none switches it on."""
BACKEND: Final = Merge(
    trusted=_backend(is_trusted=True),
    untrusted=_backend(is_trusted=False),
    because=lambda refused: backend_refusal(refused.value),
    project="choose `none`, or `interactive-sdk` if trusted",
)
"""One that the user has chosen, or one that a project of its trust may choose."""
LOWER: Final = _unless_trusted("lower it, or ", _lower)
"""The lower number counts, unless the project is trusted."""
HIGHER: Final = _unless_trusted("raise it, or ", _higher)
"""The higher number counts, unless the project is trusted."""
OFF: Final = _unless_trusted("switch it off, or ", _both)
"""It is only switched off, unless the project is trusted."""
INTERSECT: Final = _unless_trusted("leave some out, or ", _common)
"""What both lists name, unless the project is trusted."""
OPTIONS: Final = _unless_trusted("", _in_force, quotes=False, users_members=frozenset({"delegate", "sticky"}))
"""Options of suites, which may hold secrets. Those of two suites say which files are read and written."""


def earlier(*order: str) -> Merge:
    """Make a policy by which the word that is earlier in `order` counts, unless the project is trusted."""
    return _unless_trusted("choose an earlier one, or ", _earlier(order))
