"""`subagents.sandbox` and `subagents.sandboxRules` of ohm.json."""

import re
from typing import Annotated, Final, TypeAlias, cast

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from ohm_subagents._config.merge import STRICTER_SANDBOX, USER_ONLY
from ohm_subagents._config.section import Section
from ohm_subagents._config.values import Line, PositiveInt, expected
from ohm_subagents.contract.sandbox import Network, SandboxMode, SandboxRules

_SERVER: Final = re.compile(
    r"(?:(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\]):([1-9][0-9]{0,4})", re.IGNORECASE
)
_MOST_PORTS: Final = 65535


def _network(value: object) -> Network:
    if value in ("off", "on"):
        return "on" if value == "on" else "off"
    servers = tuple(cast("list[object]", value)) if isinstance(value, list | tuple) else ()
    parsed = [_SERVER.fullmatch(one) if isinstance(one, str) else None for one in servers]
    if not servers or any(one is None or int(one[1]) > _MOST_PORTS for one in parsed):
        raise expected("'off', 'on' or a list of servers, each 'host:port' or '*.host:port'")
    return tuple(f"{one}".lower() for one in servers)


Networks: TypeAlias = Annotated[
    Network,
    PlainValidator(_network),
    PlainSerializer(lambda network: network if isinstance(network, str) else [*network]),
    WithJsonSchema({"anyOf": [{"enum": ["off", "on"]}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
"""The network as a whole, or servers of it by host and port."""


class SandboxSettings(Section):
    """The reach of what runs in a sandbox, beside the system and the workspace."""

    network: Networks = Field(
        default="off",
        description="The network for commands of `bash`: as a whole, or a list of servers, each `host:port` or "
        "`*.host:port`, which takes bubblewrap; command-line agents have it. Not for project files.",
    )
    read: tuple[Line, ...] = Field(
        default=(),
        description="Files and directories that may be read besides; `~` is the home. Not for project files.",
    )
    write: tuple[Line, ...] = Field(
        default=(),
        description="Files and directories that may be changed besides; not for project files.",
    )
    processes: PositiveInt | None = Field(
        default=None,
        description="Maximum number of processes of the user at once, without effect for root; not for project files.",
    )
    memory_mb: PositiveInt | None = Field(
        default=None, description="Maximum memory of each process, in MiB; not for project files."
    )
    cpu_s: PositiveInt | None = Field(
        default=None, description="Maximum time of the processor of each process, in seconds; not for project files."
    )
    file_mb: PositiveInt | None = Field(
        default=None, description="Maximum size of a file that is written, in MiB; not for project files."
    )

    def rules(self) -> SandboxRules:
        """Return the same as a sandbox has it."""
        return SandboxRules(**self.as_arguments())


class Sandboxing(Section):
    """The sandbox of what subagents run."""

    sandbox: Annotated[SandboxMode, STRICTER_SANDBOX] = Field(
        default="off",
        description="The sandbox of what subagents run: commands of `bash`, and command-line agents. `required` "
        "refuses to run without one, `preferred` says so.",
    )
    sandbox_rules: Annotated[SandboxSettings, USER_ONLY] = SandboxSettings.unwritten()
    """The reach of what runs in a sandbox."""
