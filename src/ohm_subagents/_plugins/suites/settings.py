"""The part of the configuration that a suite may know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from pydantic import JsonValue

from ohm_subagents._config.mcp_servers import McpServer
from ohm_subagents._records import dataclass
from ohm_subagents.contract.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The part of the configuration in force that a suite may know."""

    output_max_chars: int
    """The cap of an answer in a payload, in code points."""
    onupdate_throttle_ms: int
    """The least time between two progress frames of one call."""
    debug: bool
    """Views show every field of a result."""
    transcript_tail_lines: int
    """The tool rows of a collapsed view."""
    result_preview_lines: int
    """The lines of a preview."""
    options: Mapping[str, JsonValue]
    """`suiteOptions.<name>` of ohm.json."""
    limits: Limits = field(default_factory=Limits)
    """The clocks that the configuration sets for every run; None where it sets none."""
    starts_async: bool = False
    """A model may start work that it collects later (`asyncStart`)."""
    goes_on: bool = False
    """A start that takes long goes on in the background (`backgroundAfterMs`)."""
    unheeded: tuple[str, ...] = ()
    """Sentences about settings that count for nothing in a start."""
    answers: bool = False
    """A model may be asked by the work that it has started."""
    lands: bool = False
    """Work may be kept apart until it is landed or discarded (`isolation`)."""
    model_text: Literal["tree", "framed"] = "tree"
    """The form of what the calling model reads (`modelText`)."""
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names that a call may give in place of a model, each with the model that it stands for."""
    mcp_servers: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer], repr=False)
    """The MCP servers of the user, by name (`mcpServers`)."""
