"""Values that restrain and cannot be understood: they count as the strictest one until they are corrected.

A feature is off, no plugin is loaded, `strictModel` is on, `sandbox` is required, `isolation` is a clone, `land` is
never, and `unattended` denies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.entries import SECTION as SUBAGENTS
from ohm_subagents._config.entries import SETTINGS, is_like, of_entries
from ohm_subagents._config.layers import object_at, with_value, without_values
from ohm_subagents._config.schema import FEATURES
from ohm_subagents._config.values import parse_switch, quoted_value
from ohm_subagents._records import dataclass
from ohm_subagents.contract.sandbox import SANDBOX_MODES
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.contract.workspace import ISOLATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic, Severity

_SECTION: Final = "features"
_ALL: Final = tuple((_SECTION, name) for name in FEATURES)
_FALLBACK: Final = "sdkFallbackToCli"
_NOT_OF_FALLBACK: Final = frozenset({"enabled", "disabled"})
"""Words of a switch that are not known for this one, though they are for others."""
_LOAD: Final = "loadPlugins"
_OFF: Final = "counts as false until it is corrected"
_STRICT: Final = "strictModel"
_LIKE_STRICT: Final = ("strictmodel",)
_ON: Final = "counts as true until it is corrected"
_SANDBOX: Final = "sandbox"
_LIKE_SANDBOX: Final = ("sandbox",)
_REQUIRED: Final = "required"
_REQUIRES: Final = f"counts as '{_REQUIRED}' until it is corrected"
_REQUESTS: Final = "requests"
_UNATTENDED: Final = "unattended"
_VERDICTS: Final = ("allow", "deny", "wait")
_ALLOWED: Final = "'allow', 'deny' or 'wait'"
_DENY: Final = "deny"
_DENIES: Final = f"counts as '{_DENY}' until it is corrected"


@dataclass(frozen=True, slots=True)
class _Unclear:
    """A value that is not understood."""

    path: KeyPath
    message: str
    closed: tuple[KeyPath, ...]
    """The keys that it closes."""
    to: JsonValue = False
    """The value that closes them."""
    severity: Severity = "error"


def close_unclear_switches(layer: Layer) -> tuple[Layer, tuple[Diagnostic, ...]]:
    """Close in a layer what is not understood: each value that restrains is the strictest one."""
    unclear = (
        *_lists(layer),
        *_switches(layer),
        *_strict_models(layer),
        *_sandboxes(layer),
        *_choices(layer, "isolation", free=ISOLATIONS[1:], strict=ISOLATIONS[0]),
        *_choices(layer, "land", free=("clean", "ask"), strict="never"),
        *_unattended(layer),
    )
    if not unclear:
        return layer, ()
    less = without_values(layer, [one.path for one in unclear])
    values, places = {**less.values}, {**less.places}
    wrong: list[Diagnostic] = []
    for one in unclear:
        place = layer.place(one.path)
        wrong.append(place.diagnostic(f"'{place.key}' {one.message}", severity=one.severity))
        for path in one.closed:
            values = with_value(values, path, one.to)
            places[path] = place
    return replace(layer, values=values, places=places), tuple(wrong)


def _lists(layer: Layer) -> Iterator[_Unclear]:
    for key in (_LOAD, "blockPlugins"):
        value = layer.values.get(key)
        if not isinstance(value, list | str | None) or (key,) in layer.repeated:
            message = (
                f"is {quoted_value(value)}, but has to be a list of plugins, given once; no plugin is loaded until it "
                "is corrected."
            )
            yield _Unclear((key,), message, ((_LOAD,),), [], "warning")


def _switches(layer: Layer) -> Iterator[_Unclear]:
    if _FALLBACK in layer.values:
        yield from _value(layer, (_FALLBACK,), layer.values[_FALLBACK])
    for key, value in layer.values.items():
        if key == _SECTION and isinstance(value, dict):
            for name, one in value.items():
                yield from _feature(layer, (key, name), one)
        elif key == _SECTION:
            yield _Unclear((key,), f"is {quoted_value(value)}, but has to be an object; every feature {_OFF}.", _ALL)
        elif is_like(key, (_SECTION,)) and not parse_switch(value):
            meant = [*filter(None, (_meant(name) for name in value))] if isinstance(value, dict) else FEATURES
            off = tuple(
                (_SECTION, name) for name in meant if not isinstance(value, dict) or not parse_switch(value.get(name))
            )
            if off:
                message = f"is not a known key. Did you mean '{_SECTION}'? What it switches off {_OFF}."
                yield _Unclear((key,), message, off)


def _feature(layer: Layer, path: KeyPath, value: JsonValue) -> Iterator[_Unclear]:
    """Read a key that is nearly a feature as that feature, unless it asks for what is on anyway."""
    meant = _meant(path[-1])
    if path[-1] in FEATURES:
        yield from _value(layer, path, value)
    elif meant is not None and not parse_switch(value):
        message = f"is not a known key. Did you mean '{_SECTION}.{meant}'? That {_OFF}."
        yield _Unclear(path, message, ((_SECTION, meant),))


def _meant(key: str) -> str | None:
    return next((name for name in FEATURES if is_like(key, (name.lower(),))), None)


def _value(layer: Layer, path: KeyPath, value: JsonValue) -> Iterator[_Unclear]:
    is_word_too_many = path == (_FALLBACK,) and isinstance(value, str) and value.strip().lower() in _NOT_OF_FALLBACK
    if path in layer.repeated:
        yield _Unclear(path, f"is given twice, and {_OFF}.", (path,))
    elif parse_switch(value) is None or is_word_too_many:
        yield _Unclear(path, f"is {quoted_value(value)}, but has to be true or false; it {_OFF}.", (path,))


def _strict_models(layer: Layer) -> Iterator[_Unclear]:
    """Yield each `strictModel` of all subagents, and of one, that is unclear or misspelt. Null asks for none."""
    for path, value in _of_all_and_one(layer, _LIKE_STRICT):
        meaning = parse_switch(value)
        if path[-1] != _STRICT and meaning is not False and not isinstance(value, dict):
            meant = (*path[:-1], _STRICT)
            message = f"is not a known key. Did you mean '{'.'.join(meant)}'? That {_ON}."
            yield _Unclear(path, message, (meant,), to=True)
        elif path[-1] == _STRICT and path in layer.repeated:
            yield _Unclear(path, f"is given twice, and {_ON}.", (path,), to=True)
        elif path[-1] == _STRICT and meaning is None and value is not None:
            message = f"is {quoted_value(value)}, but has to be true or false; it {_ON}."
            yield _Unclear(path, message, (path,), to=True)


def _sandboxes(layer: Layer) -> Iterator[_Unclear]:
    """Yield each `sandbox` of all subagents, and of one, that is unclear or misspelt; `off` asks for none."""
    common = object_at(layer.values, (SUBAGENTS,))
    written = [((SUBAGENTS, key), value) for key, value in common.items() if is_like(key, _LIKE_SANDBOX)]
    for path, value in (*written, *of_entries(layer, _LIKE_SANDBOX)):
        if path[-1] != _SANDBOX and value not in {None, "off"} and not isinstance(value, dict):
            meant = (*path[:-1], _SANDBOX)
            message = f"is not a known key. Did you mean '{'.'.join(meant)}'? That {_REQUIRES}."
            yield _Unclear(path, message, (meant,), to=_REQUIRED)
        elif path[-1] == _SANDBOX and path in layer.repeated:
            yield _Unclear(path, f"is given twice, and {_REQUIRES}.", (path,), to=_REQUIRED)
        elif path[-1] == _SANDBOX and value is not None and value not in SANDBOX_MODES:
            message = f"is {quoted_value(value)}, but has to be 'required', 'preferred' or 'off'; it {_REQUIRES}."
            yield _Unclear(path, message, (path,), to=_REQUIRED)


def _choices(layer: Layer, key: str, *, free: tuple[str, ...], strict: str) -> Iterator[_Unclear]:
    """Yield each choice of all subagents, and of one, that is unclear or misspelt. Null makes none."""
    counts = f"counts as '{strict}' until it is corrected"
    for path, value in _of_all_and_one(layer, (key,)):
        meant = (*path[:-1], key)
        if isinstance(value, dict) and path != meant:
            continue  # a subagent of nearly this name
        if path != meant and value not in (None, *free):
            message = f"is not a known key. Did you mean '{'.'.join(meant)}'? That {counts}."
            yield _Unclear(path, message, (meant,), to=strict)
        elif path == meant and path in layer.repeated:
            yield _Unclear(path, f"is given twice, and {counts}.", (path,), to=strict)
        elif path == meant and value not in (None, *free, strict):
            allowed = ", ".join(f"'{one}'" for one in free)
            message = f"is {quoted_value(value)}, but has to be {allowed} or '{strict}'; it {counts}."
            yield _Unclear(path, message, (path,), to=strict)


def _of_all_and_one(layer: Layer, names: tuple[str, ...]) -> Iterator[tuple[KeyPath, JsonValue]]:
    """Yield what is said under such a key, also misspelt, for all subagents and for one."""
    common = object_at(layer.values, (SUBAGENTS,))
    yield from (((SUBAGENTS, key), value) for key, value in common.items() if is_like(key, names))
    yield from of_entries(layer, names)


def _unattended(layer: Layer) -> Iterator[_Unclear]:
    """Yield what is unclear of `subagents.requests.unattended`, which no project sets; `allow` is no restraint."""
    if layer.kind == "project":
        return
    meant = (SUBAGENTS, _REQUESTS, _UNATTENDED)
    for key, value in object_at(layer.values, (SUBAGENTS,)).items():
        path = (SUBAGENTS, key)
        if key == _REQUESTS and not isinstance(value, dict):
            message = f"is {quoted_value(value)}, but has to be an object; '{_UNATTENDED}' {_DENIES}."
            yield _Unclear(path, message, (meant,), to=_DENY)
        elif isinstance(value, dict) and (key == _REQUESTS or (key not in SETTINGS and is_like(key, (_REQUESTS,)))):
            for name, one in value.items():
                if is_like(name, (_UNATTENDED,)):
                    yield from _verdict(layer, (*path, name), one, meant)


def _verdict(layer: Layer, path: KeyPath, value: JsonValue, meant: KeyPath) -> Iterator[_Unclear]:
    if path in layer.repeated:
        yield _Unclear(path, f"is given twice, and {_DENIES}.", (meant,), to=_DENY)
    elif path != meant and value != "allow":
        message = f"is not a known key. Did you mean '{'.'.join(meant)}'? That {_DENIES}."
        yield _Unclear(path, message, (meant,), to=_DENY)
    elif path == meant and value is not None and value not in _VERDICTS:
        near = did_you_mean(value, _VERDICTS) if isinstance(value, str) else ""
        message = f"is {quoted_value(value)}, but has to be one of {_ALLOWED}; it {_DENIES}. {near}"
        yield _Unclear(path, message.rstrip(), (meant,), to=_DENY)
