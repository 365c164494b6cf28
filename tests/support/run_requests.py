"""Requests to backends, made and changed by the names of their fields, whether they are of the request or its spec."""

from dataclasses import fields, replace
from typing import Any

from ohm_subagents.plugin import RunRequest, RunSpec

_OF_SPEC = frozenset(field.name for field in fields(RunSpec))


def run_request(**given: Any) -> RunRequest:
    spec = RunSpec(**{name: value for name, value in given.items() if name in _OF_SPEC})
    return RunRequest(spec=spec, **{name: value for name, value in given.items() if name not in _OF_SPEC})


def changed(request: RunRequest, **given: Any) -> RunRequest:
    """The request with these fields, wherever they are."""
    spec = replace(request.spec, **{name: value for name, value in given.items() if name in _OF_SPEC})
    return replace(request, spec=spec, **{name: value for name, value in given.items() if name not in _OF_SPEC})
