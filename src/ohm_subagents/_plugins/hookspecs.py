"""The hooks: markers and specs, nothing else."""

from __future__ import annotations

from typing import Final

import pluggy

PROJECT: Final = "ohm_subagents"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
