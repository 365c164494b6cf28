"""The versions of the messages. A new field needs none; a changed or a removed one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents.contract.wire.messages import WireObject

VERSIONS: Final = (1, 2, 3)
"""The versions that this release reads and writes."""
NEWEST: Final = VERSIONS[-1]
HAS_WORKSPACES: Final = 2
"""The first version whose runs have a workspace in place of a directory."""
SHARES: Final = 3
"""The first version in which the runs of a `Post` share what they have in common."""


class WireError(ValueError):
    """A message cannot be read, or an older version cannot say it; the text is one sentence about why."""


def lowered(fields: WireObject, version: int) -> WireObject:
    """Return the fields of a message of the newest version in an older one. Raises `WireError` if it cannot say it.

    Version 1 has the directory `cwd` of a run in place of a `workspace`. A message by itself is the same in version 2
    and 3, which has posts whose runs share what they have in common.
    """
    spec = None if version >= HAS_WORKSPACES else _spec_of(fields)
    if spec is None:
        return fields
    workspace = spec.get("workspace")
    if not isinstance(workspace, dict) or workspace.get("kind") != "shared":
        raise WireError(_unsayable(workspace))
    kept: WireObject = {key: value for key, value in spec.items() if key != "workspace"}
    return _with_spec(fields, {**kept, "cwd": workspace["path"]})


def raised(fields: WireObject, version: int) -> WireObject:
    """Return the fields of a message of an older version in the newest one."""
    spec = None if version >= HAS_WORKSPACES else _spec_of(fields)
    if spec is None or "cwd" not in spec:
        return fields
    kept: WireObject = {key: value for key, value in spec.items() if key != "cwd"}
    return _with_spec(fields, {**kept, "workspace": {"kind": "shared", "path": spec["cwd"]}})


def _spec_of(fields: WireObject) -> WireObject | None:
    """Return the part of a message that begins a run which versions write differently; None for other messages."""
    run = fields.get("run") if fields.get("kind") == "start" else None
    spec = run.get("spec") if isinstance(run, dict) else None
    return spec if isinstance(spec, dict) else None


def _with_spec(fields: WireObject, spec: WireObject) -> WireObject:
    run = fields["run"]
    return {**fields, "run": {**run, "spec": spec}} if isinstance(run, dict) else fields


def _unsayable(workspace: JsonValue) -> str:
    kind = workspace.get("kind") if isinstance(workspace, dict) else workspace
    return (
        f"Version 1 of the messages cannot say that the workspace is of kind '{kind}'. Update the runner, or use a "
        "directory that both sides see."
    )
