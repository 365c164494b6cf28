"""`subagents.sandbox` and `subagents.sandboxRules` of ohm.json."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, field_validator
from pydantic_core import PydanticCustomError

from ohm_subagents._config.merge import STRICTER_SANDBOX, USER_ONLY
from ohm_subagents._config.section import Section
from ohm_subagents._config.values import Line, PositiveInt
from ohm_subagents.contract.sandbox import SandboxMode, SandboxRules


class SandboxSettings(Section):
    """The reach of what runs in a sandbox, beside the system and the workspace."""

    network: Literal["off", "on"] = Field(
        default="off",
        description="The network for commands of `bash`, as a whole; command-line agents have it. "
        "Not for project files.",
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

    @field_validator("network", mode="before")
    @classmethod
    def _as_a_whole(cls, value: JsonValue) -> JsonValue:
        if value not in ("off", "on"):
            raise PydanticCustomError("not_network", "'off' or 'on': no host and no port can be allowed by itself")
        return value

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
