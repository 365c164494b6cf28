"""Check values against a JSON schema. A program: patterns, references and uniqueness can take for ever.

It reads `{"values": […], "schema": {…}}`, and writes `{"fits": <number of the first that does>}` or
`{"wrong": <what is wrong with the first>}`. Nothing is ever fetched.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from jsonschema import Draft202012Validator, SchemaError, ValidationError, validate
from referencing import Registry
from referencing.exceptions import Unresolvable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

_SHOWN: Final = 500


def misfit(value: JsonValue, schema: Mapping[str, JsonValue], *, name: str = "result") -> str | None:
    """Say in one sentence what is wrong with a value, called `name`, that has to fit a schema; None if it fits."""
    try:
        validate(value, {**schema}, cls=Draft202012Validator, registry=Registry[Any]())
    except ValidationError as error:
        where = error.json_path.removeprefix("$")
        return f"'{name}{_cut(where)}' does not fit: {_cut(error.message.rstrip('.'))}."
    except (SchemaError, Unresolvable) as error:
        return f"'{name}' has a schema that cannot be followed: {_cut(str(error))}."
    except RecursionError:
        return f"'{name}' is nested too deep."
    return None


def _cut(text: str) -> str:
    """Cut a message, which quotes the value, of whatever size."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"  # as `shortened`, which takes long to import


def judged(said: bytes) -> bytes:
    """Judge values by a schema, both as JSON bytes; return the reply of the child process as JSON bytes."""
    try:
        given = json.loads(said)
        wrong = [misfit(value, given["schema"]) for value in given["values"]]
    except RecursionError:
        return json.dumps({"wrong": "'result' is nested too deep."}).encode()
    return json.dumps({"fits": wrong.index(None)} if None in wrong else {"wrong": wrong[0]}).encode()


def main() -> None:
    """Judge what is on stdin."""
    sys.stdout.buffer.write(judged(sys.stdin.buffer.read()))
