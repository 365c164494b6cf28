"""The expectations of a case: a subject (what was seen) and a way to compare it. An unknown expectation fails."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from golden_differences import difference
from golden_recording import Json

Check = Callable[[Any, Any], str | None]
"""(expected, ours) → what differs, or None."""


class Seen(Protocol):
    """The result of a call: each subject that it has."""

    async def subject(self, name: str) -> Any:
        """Raises `KeyError` if this call has no such subject."""
        ...


async def differences(expect: Json, seen: Seen) -> list[str]:
    """Everything in which what was seen is not what was expected."""
    found = []
    for key, expected in expect.items():
        if key in MODIFIERS:
            continue
        name, check = _understood(key, expect)
        if check is None:
            found.append(f"{key}: the runner knows no such expectation")
            continue
        try:
            ours = await seen.subject(name)
        except KeyError:
            found.append(f"{key}: this call has no {name}")
            continue
        if key == "details" and expected is None:  # a result without any is one with none of ours
            check, ours = exact, ours or None
        said = check(expected, ours)
        if said is not None:
            found.append(f"{key}\n{said}")
    return found


MODIFIERS = {"details_exact", "appended_any_order"}
"""These change how another key of the same case is compared."""


def _understood(key: str, expect: Json) -> tuple[str, Check | None]:
    if key == "runs" and isinstance(expect[key], int):
        return "spawned", exact
    if key == "prompt" and isinstance(expect[key], dict):
        return key, subset
    if key in PLAIN:
        name, check = PLAIN[key]
        if key == "details" and expect.get("details_exact"):
            check = exact
        if key.startswith("appended_") and expect.get("appended_any_order"):
            check = in_any_order(check)
        return name, check
    for name in sorted(SUBJECTS, key=len, reverse=True):
        if key == name:
            return name, exact
        if key.startswith(f"{name}_"):
            return name, OPERATORS.get(key.removeprefix(f"{name}_"))
    return key, None


# Ways to compare


def same(expected: Any, ours: Any) -> bool:
    """JSON equality: true is not 1."""
    if isinstance(expected, bool) or isinstance(ours, bool):
        return expected is ours
    if isinstance(expected, dict) and isinstance(ours, Mapping):
        return expected.keys() == ours.keys() and all(same(one, ours[key]) for key, one in expected.items())
    if isinstance(expected, list) and isinstance(ours, list | tuple):
        return len(expected) == len(ours) and all(map(same, expected, ours))
    return expected == ours


def within(expected: Any, ours: Any) -> bool:
    """Deep subset: of objects the keys that are expected, of lists every item in its place."""
    if isinstance(expected, dict) and isinstance(ours, Mapping):
        return all(key in ours and within(one, ours[key]) for key, one in expected.items())
    if isinstance(expected, list) and isinstance(ours, list | tuple):
        return len(expected) == len(ours) and all(map(within, expected, ours))
    return same(expected, ours)


def _if_not(holds: bool, expected: Any, ours: Any) -> str | None:
    return None if holds else difference(expected, ours).replace("recorded", "expected")


def exact(expected: Any, ours: Any) -> str | None:
    return _if_not(same(expected, ours), expected, ours)


def subset(expected: Any, ours: Any) -> str | None:
    return _if_not(within(expected, ours), expected, ours)


def _list(expected: Any) -> list[Any]:
    return expected if isinstance(expected, list) else [expected]


def contains(expected: Any, ours: Any) -> str | None:
    return _if_not(all(_holds(one, ours) for one in _list(expected)), expected, ours)


def not_contains(expected: Any, ours: Any) -> str | None:
    return _if_not(not any(_holds(one, ours) for one in _list(expected)), expected, ours)


def _holds(one: Any, ours: Any) -> bool:
    """Return True if it is an item, or a piece of the text; of a list that is no item each of its own has to be."""
    if isinstance(ours, str):
        return all(_holds(each, ours) for each in one) if isinstance(one, list) else one in ours
    if any(same(one, mine) for mine in ours):
        return True
    return isinstance(one, list) and bool(one) and all(_holds(each, ours) for each in one)


def order(expected: Any, ours: Any) -> str | None:
    """Every piece comes, each after the one before it; of texts as of lists."""
    at = 0
    for piece in expected:
        rest = ours[at:]
        if piece not in rest:
            return _if_not(False, expected, ours)
        at += rest.index(piece) + (len(piece) if isinstance(ours, str) else 1)
    return None


def prefix(expected: Any, ours: Any) -> str | None:
    return _if_not(ours[: len(expected)] == expected, expected, ours)


def suffix(expected: Any, ours: Any) -> str | None:
    return _if_not(ours[len(ours) - len(expected) :] == expected, expected, ours)


def regex(expected: Any, ours: Any) -> str | None:
    """A pattern, or several, somewhere in the text; or for each `after --flag`, one for what follows that flag."""
    if not isinstance(expected, dict):
        return _if_not(all(re.search(one, ours) for one in _list(expected)), expected, ours)
    for place, pattern in expected.items():
        flag = place.removeprefix("after ")
        following = ours[ours.index(flag) + 1 :] if flag in ours else []
        if not (following and re.search(pattern, following[0])):
            return _if_not(False, expected, ours)
    return None


def as_set(expected: Any, ours: Any) -> str | None:
    holds = len(expected) == len(ours) and all(any(same(one, mine) for mine in ours) for one in expected)
    return _if_not(holds, expected, ours)


def superset(expected: Any, ours: Any) -> str | None:
    return _if_not(all(any(same(one, mine) for mine in ours) for one in expected), expected, ours)


def length(expected: Any, ours: Any) -> str | None:
    return _if_not(len(ours) == expected, expected, len(ours))


def last(expected: Any, ours: Any) -> str | None:
    return _if_not(bool(ours) and same(expected, ours[-1]), expected, ours)


def last_regex(expected: Any, ours: Any) -> str | None:
    return _if_not(bool(ours) and re.search(expected, ours[-1]) is not None, expected, ours)


def absent(expected: Any, ours: Any) -> str | None:
    """None of these keys (dotted paths) or items is there."""
    there = [
        one for one in _list(expected) if (at(ours, one) is not MISSING if isinstance(ours, dict) else one in ours)
    ]
    return _if_not(not there, f"none of {expected}", there)


def each_within(expected: Any, ours: Any) -> str | None:
    """Every one is in one of ours."""
    missing = [one for one in expected if not any(_shown(one, mine) for mine in ours)]
    return _if_not(not missing, missing, ours)


def _shown(one: Any, update: Json) -> bool:
    return one in update["text"] if isinstance(one, str) else within(one, update)


def in_any_order(check: Check | None) -> Check:
    """Each of the expected matches another one of ours, and none is left over."""
    assert check is not None

    def compare(expected: Any, ours: Any) -> str | None:
        left = list(ours)
        for one in expected:
            fits = [index for index, mine in enumerate(left) if check([one], [mine]) is None]
            if not fits:
                return _if_not(False, expected, ours)
            left.pop(fits[0])
        return _if_not(not left, expected, ours)

    return compare


# Paths


MISSING: Any = object()


def at(value: Any, path: str) -> Any:
    """Return what lies at a dotted path; `MISSING` if nothing does."""
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value


def paths(expected: Any, ours: Any) -> str | None:
    """A check for each dotted path: a value, or an object of checks."""
    said = [_path(path, check, at(ours, path)) for path, check in expected.items()]
    return "\n".join(one for one in said if one is not None) or None


def _path(path: str, check: Any, ours: Any) -> str | None:
    if not isinstance(check, dict):
        return None if same(check, ours) else f"  {path}: expected {check!r}, ours {ours!r}"
    unknown = set(check) - set(PATH_CHECKS)
    if unknown:
        return f"  {path}: the runner knows no check {sorted(unknown)}"
    if ours is MISSING and check.get("absent") is not True:
        return f"  {path}: there is nothing"
    wrong = [name for name, argument in check.items() if not PATH_CHECKS[name](argument, ours)]
    return f"  {path}: expected {check!r}, ours {ours!r}" if wrong else None


def _each(pattern: str, ours: Iterable[str]) -> bool:
    return all(re.search(pattern, one) for one in ours)


def _is_unique(wanted: bool, ours: list[Any]) -> bool:
    return (len({repr(one) for one in ours}) == len(ours)) is wanted


TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}

PATH_CHECKS: Mapping[str, Callable[[Any, Any], bool]] = {
    "len": lambda count, ours: len(ours) == count,
    "min_len": lambda count, ours: len(ours) >= count,
    "each_regex": _each,
    "regex": lambda pattern, ours: re.search(pattern, ours) is not None,
    "unique": _is_unique,
    "equals": same,
    "subset": within,
    "contains": lambda one, ours: contains(one, ours) is None,
    "not_contains": lambda one, ours: not_contains(one, ours) is None,
    "type": lambda name, ours: isinstance(ours, TYPES[name]) and (name == "boolean" or not isinstance(ours, bool)),
    "min": lambda least, ours: ours >= least,
    "max": lambda most, ours: ours <= most,
    "absent": lambda wanted, ours: (ours is MISSING) is wanted,
    "present": lambda wanted, ours: (ours is not MISSING) is wanted,
}


def equal_paths(expected: Any, ours: Any) -> str | None:
    apart = [
        pair for pair in expected if len({repr(at(ours, path)) for path in pair}) > 1 or at(ours, pair[0]) is MISSING
    ]
    return _if_not(not apart, apart, ours)


def kept_runs(expected: Any, ours: Any) -> str | None:
    """Of each session the names of its runs, or how many there are."""
    counted = {key: len(ours.get(key, ())) if isinstance(one, int) else ours.get(key) for key, one in expected.items()}
    return exact(expected, counted)


def truth(expected: Any, ours: Any) -> str | None:
    """Compare whether there is any, or which there are."""
    return (
        contains(expected, ours) if not isinstance(expected, bool) else _if_not(bool(ours) is expected, expected, ours)
    )


def keys(expected: Any, ours: Any) -> str | None:
    return _if_not(set(expected) <= set(ours), expected, sorted(ours))


# What there is


OPERATORS: Mapping[str, Check] = {
    "contains": contains,
    "not_contains": not_contains,
    "order": order,
    "prefix": prefix,
    "suffix": suffix,
    "regex": regex,
    "subset": subset,
    "superset": superset,
    "set": as_set,
    "len": length,
    "count": length,
    "absent": absent,
    "last": last,
    "last_regex": last_regex,
    "equals": exact,
    "exact": exact,
}

SUBJECTS = frozenset(
    {
        "text",
        "details",
        "throws",
        "prompt",
        "second_prompt",
        "value",
        "name",
        "profile",
        "plain",
        "plain_lines",
        "themed",
        "agent",
    }
    | {"schema_valid", "spawned", "runs", "max_concurrency", "signals", "signals_names", "sigterm_at", "sigkill_at"}
    | {
        "child_args",
        "child_env",
        "child_system_prompt",
        "child_cwd",
        "registered_tools",
        "loaded",
        "warns",
        "persisted",
    }
    | {"appended_types", "size", "present", "raises", "prompt_snippet", "prompt_guidelines", "label", "unique"}
    | {"valid", "finalized", "rejected", "error", "all_equal", "session_files", "same_session_file"}
    | {"entries_read", "last_widget", "user_message_last_line", "saved"}
    | {"store_ids", "state", "ui", "widgets", "user_messages", "user_message", "messages", "message", "return"}
)

PLAIN: Mapping[str, tuple[str, Check]] = {
    "details": ("details", subset),
    "agent": ("agent", subset),
    "names": ("names", exact),
    "sources": ("sources", subset),
    "tools": ("tools", subset),
    "all_readonly": ("all_readonly", exact),
    "details_paths": ("details", paths),
    "details_equal_paths": ("details", equal_paths),
    "details_keys_superset": ("details", keys),
    "details_names": ("details_names", as_set),
    "details_text_same_session": ("is_same_session", exact),
    "child_env": ("child_env", subset),
    "warns": ("warns", truth),
    "updates_contain": ("updates", each_within),
    "appended_fields": ("appended", subset),
    "appended_count": ("appended", length),
    "store": ("store", subset),
    "store_runs": ("runs", kept_runs),
    "store_ids": ("store_ids", as_set),
    "runs": ("runs", subset),
    "present": ("store_ids", superset),
    "absent": ("store_ids", not_contains),
}
