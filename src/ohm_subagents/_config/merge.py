"""Merging a project's file with what is in force: a policy at each field of the schema, below in capital letters.

`ONLY_LOWER` and those like it say what a project may do; `docs/reference/config.md` lists it for each field.
Each policy is the meet of two values: the project's, and the one in force below it. A project that its user does not
trust only tightens; every other layer replaces what is below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import JsonValue

from ohm_subagents._config.trust import TRUST_COMMAND
from ohm_subagents._config.values import parse_switch, quoted_value
from ohm_subagents._records import dataclass
from ohm_subagents.contract.sandbox import SANDBOX_MODES
from ohm_subagents.contract.workspace import ISOLATIONS

if TYPE_CHECKING:
    from ohm_subagents._config.jsonc import KeyPath

Meet: TypeAlias = Callable[[JsonValue, JsonValue], JsonValue]
"""Return what counts of a project's value and the one in force."""
_TOOLLESS: Final = frozenset({"none"})
_TRUSTED: Final = frozenset({"none", "interactive-sdk"})
_NO_LIMIT: Final = Decimal("Infinity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A project's value that does not count, or not whole."""

    value: JsonValue
    """The value as it is written."""
    in_force: JsonValue
    """The value that it would have replaced."""
    origin: str
    """The place of that one: `file:line`, or `default`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Merge:
    """A policy, given as metadata of a field; the fields of a section have that of the section, or one of their own."""

    trusted: Meet
    """For a project that its user trusts."""
    untrusted: Meet
    """For one that its user does not trust."""
    refusal: Callable[[Refused], str]
    """Say, after the key, why a value does not count."""
    advice: Callable[[Refused], str]
    """Say what would help, or nothing."""
    project: str
    """In the reference: what a project's file may do with the field."""
    users_members: frozenset[str] = frozenset()
    """Keys of a mapping that no project sets."""
    is_ceiling: bool = False
    """True if the value lowers what a profile's file says where nothing else is in force."""
    is_whole: bool = False
    """True if an object is one value; else each of its members is."""
    implied_by: tuple[KeyPath, ...] = ()
    """Paths of the numbers of which the lowest is in force while the field is not set."""


def backend_choices(*, is_trusted: bool) -> frozenset[str]:
    """Return the backends that a project may choose besides those of its user.

    Tools of interactive-sdk work on this machine, `bash` without any bounds, so before the user trusts the project it
    moves nothing there from a backend that may keep them apart.
    """
    return _TRUSTED if is_trusted else _TOOLLESS


BACKEND_RULE: Final = "a project chooses none, interactive-sdk once it is trusted, and what the user has chosen"
"""The reason why a project may not choose a backend."""


def backend_advice(chosen: JsonValue) -> str:
    """Say who can choose this backend."""
    trust = f", or trust the project ('{TRUST_COMMAND}')" if chosen in _TRUSTED else ""
    return f"To choose it, set it in the user's file{trust}."


def _no_advice(_refused: Refused) -> str:
    return ""


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
    is_off = parse_switch(given) is False
    return given if is_off or (parse_switch(given) and parse_switch(in_force)) else in_force


def _either(given: JsonValue, in_force: JsonValue) -> JsonValue:
    return given if parse_switch(given) else in_force


def _only(word: str) -> Meet:
    return lambda given, in_force: given if given == word else in_force


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


def _void(because: Callable[[Refused], str]) -> Callable[[Refused], str]:
    return lambda refused: f"is {quoted_value(refused.value)}, which has no effect: {because(refused)}."


def _too_high(refused: Refused) -> str:
    return f"a project's file may say at most {quoted_value(refused.in_force)} ({refused.origin})"


def _off_below(refused: Refused) -> str:
    return "the default is false" if refused.origin == "default" else f"{refused.origin} says false"


_NOT_TRUSTED: Final = "a project that is not trusted only tightens"
_TRUST_IT: Final = f"To allow it, set it in the user's file, or trust the project ('{TRUST_COMMAND}')."


def _given_in_vain(_refused: Refused) -> str:
    return f"is given, which has no effect: {_NOT_TRUSTED}."


def _unless_trusted(project: str, untrusted: Meet) -> Merge:
    refusal = _void(lambda _refused: _NOT_TRUSTED)
    return Merge(
        trusted=_given,
        untrusted=untrusted,
        refusal=refusal,
        advice=lambda _refused: _TRUST_IT,
        project=f"{project}set it if trusted",
    )


def _always(project: str, meet: Meet, refusal: Callable[[Refused], str]) -> Merge:
    return Merge(trusted=meet, untrusted=meet, refusal=refusal, advice=_no_advice, project=project)


REPLACE: Final = _unless_trusted("", _in_force)
"""A trusted project's value replaces the one in force; another says nothing. The policy of a field that names none."""
USER_ONLY: Final = replace(
    _always(
        "not set it",
        _in_force,
        lambda _refused: "cannot be set by a project, and is ignored; set it in the user's file.",
    ),
    is_whole=True,
)
"""No project sets it."""
ONLY_LOWER: Final = _always("lower it", _lower, _void(_too_high))
"""The lower number counts, of any project: even one that is trusted raises nothing."""
ONLY_LOWER_OVER_PROFILES: Final = replace(ONLY_LOWER, is_ceiling=True)
"""The same, and it is held against a profile's file as well."""
ONLY_LOWER_COUNT: Final = _always(
    "lower it, not to 0", _lower_count, _void(lambda refused: f"{_too_high(refused)}, and not 0")
)
"""The lower count counts, of any project; 0 is the highest."""
WHOLE: Final = replace(REPLACE, is_whole=True)
"""The same for a mapping, of which a project that is not trusted adds nothing and takes nothing away."""
RULES: Final = replace(REPLACE, project="tighten it")
"""Rules of several files that are joined when they are read (`permissions`, `tool_rules`)."""
DENY_WINS: Final = _always("switch it off", _both, _void(_off_below))
"""Any project switches it off, none switches it on."""
STRICTER_SANDBOX: Final = _always(
    "choose a stricter one",
    lambda given, in_force: next((one for one in SANDBOX_MODES if one in (given, in_force)), "off"),
    _void(lambda refused: f"{refused.origin} says {quoted_value(refused.in_force)}, and a project only tightens"),
)
"""The stricter sandbox counts, of any project."""
BACKEND: Final = Merge(
    trusted=_backend(is_trusted=True),
    untrusted=_backend(is_trusted=False),
    refusal=_void(lambda _refused: BACKEND_RULE),
    advice=lambda refused: backend_advice(refused.value),
    project="choose `none`, or `interactive-sdk` if trusted",
)
"""One that the user has chosen, or one that a project of its trust may choose."""
LOWER_UNLESS_TRUSTED: Final = _unless_trusted("lower it, or ", _lower)
"""The lower number counts, unless the project is trusted: then its value replaces the one in force."""
HIGHER_UNLESS_TRUSTED: Final = _unless_trusted("raise it, or ", _higher)
"""The higher number counts, unless the project is trusted."""
OFF_UNLESS_TRUSTED: Final = _unless_trusted("switch it off, or ", _both)
"""It is only switched off, unless the project is trusted."""
ON_UNLESS_TRUSTED: Final = _unless_trusted("switch it on, or ", _either)
"""It is only switched on, unless the project is trusted."""
CLONE_UNLESS_TRUSTED: Final = _unless_trusted(f"choose `{ISOLATIONS[0]}`, or ", _only(ISOLATIONS[0]))
"""A clone is only asked for, unless the project is trusted."""
ONLY_NEVER: Final = _always(
    "choose `never`", _only("never"), _void(lambda _refused: "a project's file may only say 'never'")
)
"""A project, even one that is trusted, only forbids it."""
INTERSECT_UNLESS_TRUSTED: Final = _unless_trusted("leave some out, or ", _common)
"""The names that are in both lists, unless the project is trusted."""
OPTIONS: Final = replace(
    REPLACE,
    refusal=_given_in_vain,
    project="set it if trusted, but for `delegate` and `sticky`",
    users_members=frozenset({"delegate", "sticky"}),
)
"""Options of suites, which may hold secrets. Those of two suites say which files are read and written."""


def earlier_unless_trusted(*order: str) -> Merge:
    """Make a policy by which the word that is earlier in `order` counts, unless the project is trusted."""
    return _unless_trusted("choose an earlier one, or ", _earlier(order))
