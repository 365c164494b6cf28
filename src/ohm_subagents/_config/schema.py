"""ohm.json as frozen models: snake_case inside, the documented camelCase as aliases."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import (
    Field,
    JsonValue,
    model_validator,
)
from pydantic.alias_generators import to_camel

from ohm_subagents._config.limits import (
    CommonLimits,
    LimitSource,
    limit_sources,
)
from ohm_subagents._config.mcp_servers import McpServer
from ohm_subagents._config.merge import (
    BACKEND,
    DENY_WINS,
    HIGHER_UNLESS_TRUSTED,
    INTERSECT_UNLESS_TRUSTED,
    LOWER_UNLESS_TRUSTED,
    OFF_UNLESS_TRUSTED,
    ONLY_LOWER,
    OPTIONS,
    USER_ONLY,
    earlier_unless_trusted,
)
from ohm_subagents._config.reserved import RESERVED
from ohm_subagents._config.section import JsonObject, Section
from ohm_subagents._config.subagents import Subagents
from ohm_subagents._config.values import (
    Flag,
    Line,
    PluginNames,
    PositiveInt,
    ShortSwitch,
    Switch,
    VariableName,
    WebAddress,
)
from ohm_subagents.contract.limits import Limits
from ohm_subagents.contract.services import CompatibleModel, CompatibleProvider

Mode: TypeAlias = Literal["rush", "smart", "deep"]


class Features(Section):
    handoff: Switch = Field(
        default=True, description="Handing a conversation over to another agent.", json_schema_extra=RESERVED
    )
    subagents: Switch = Field(default=True, description="Allow tasks to be started.")
    session_thread_search: Switch = Field(
        default=True, description="Searching earlier conversations.", json_schema_extra=RESERVED
    )
    handoff_visualizer: Switch = Field(
        default=True, description="Showing what was handed over.", json_schema_extra=RESERVED
    )
    painter_imagegen: Switch = Field(default=True, description="Offer the `painter` subagent.")

    def is_on(self, name: str) -> bool:
        """Return True if the flag that a profile names as its `feature` is on; a flag that does not exist is off."""
        return any(bool(getattr(self, field)) for field in type(self).model_fields if to_camel(field) == name)


FEATURES: Final = tuple(to_camel(name) for name in Features.model_fields)


class GooglePainter(Section):
    enabled: Switch = Field(default=True, description="Allow Google's image model.")
    model: str = Field(default="gemini-2.5-flash-image-preview", description="Google's image model.")


class OpenAIPainter(Section):
    enabled: Switch = Field(default=True, description="Allow OpenAI's image model.")
    model: str = Field(default="gpt-image-1", description="OpenAI's image model.")


class AzurePainter(Section):
    enabled: Switch = Field(default=False, description="Allow an Azure image deployment.")
    deployment: str = Field(default="", description="Name of the Azure deployment.")
    endpoint: str = Field(default="", description="Address of the Azure resource.")
    api_version: str = Field(default="2025-04-01-preview", description="Version of the Azure API.")


class Painter(Section):
    google_nano_banana: GooglePainter = GooglePainter.unwritten()
    """Reserved."""
    openai: OpenAIPainter = OpenAIPainter.unwritten()
    """Reserved."""
    azure_openai: AzurePainter = AzurePainter.unwritten()
    """Reserved."""


class ProviderModel(Section):
    """`"name"` is short for `{"id": "name"}`."""

    id: Line = Field(description="The model's name at the provider.")
    supports_thinking: Switch = Field(default=False, description="The model takes a thinking level.")
    supports_images: Switch = Field(default=False, description="The model reads the images that tools return.")
    context_window: PositiveInt | None = Field(default=None, description="Size of the context, in tokens.")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: JsonValue) -> JsonValue:
        return {"id": value} if isinstance(value, str) else value


class Provider(Section):
    """An OpenAI-compatible service."""

    base_url: WebAddress = Field(description="Address of the OpenAI-compatible service.")
    api_key_env: VariableName | None = Field(default=None, description="The environment variable that holds its key.")
    models: tuple[ProviderModel, ...] = Field(default=(), description="Its models; empty means that any name is tried.")

    def service(self, name: str) -> CompatibleProvider:
        """Return the service as backends know it, under the folded name that ohm.json gives it."""
        models = tuple(CompatibleModel(**one.as_arguments()) for one in self.models)
        return CompatibleProvider(name=name, base_url=self.base_url, api_key_env=self.api_key_env, models=models)


class Display(Section):
    """The limits of what is shown of a result, and how often."""

    output_max_chars: Annotated[PositiveInt, LOWER_UNLESS_TRUSTED] = Field(
        default=8000, description="Cap of an answer in a payload, in characters."
    )
    model_text: Annotated[Literal["tree", "framed"], earlier_unless_trusted("framed", "tree")] = Field(
        default="tree",
        description="What a calling model reads: a `tree` as people do, or answers `framed` as data, with `read_result`"
        " for the rest of one that was cut.",
    )
    onupdate_throttle_ms: Annotated[PositiveInt, HIGHER_UNLESS_TRUSTED] = Field(
        default=120, description="Least time between two live updates, in milliseconds."
    )
    result_preview_lines: Annotated[PositiveInt, LOWER_UNLESS_TRUSTED] = Field(
        default=12, description="Lines of an answer in a collapsed view."
    )
    transcript_tail_lines: Annotated[PositiveInt, LOWER_UNLESS_TRUSTED] = Field(
        default=4, description="Newest tool rows in a collapsed view."
    )
    debug: Annotated[Flag, OFF_UNLESS_TRUSTED] = Field(
        default=False, description="Show every field of a result in views."
    )
    ui_mode: Annotated[Literal["off", "compact", "verbose"], earlier_unless_trusted("off", "compact", "verbose")] = (
        Field(default="off", description="The live widget below a host's prompt.")
    )
    ui_update_ms: Annotated[PositiveInt, HIGHER_UNLESS_TRUSTED] = Field(
        default=150, description="Least time between two widget updates, in milliseconds."
    )
    ui_idle_grace_ms: Annotated[PositiveInt, LOWER_UNLESS_TRUSTED] = Field(
        default=2000, description="Time that a finished task stays in the widget, in milliseconds."
    )


class History(Section):
    """The limits of what is kept of tasks."""

    task_max_events: Annotated[PositiveInt, LOWER_UNLESS_TRUSTED] = Field(
        default=120, description="Maximum number of events kept of one task."
    )
    task_max_entries: Annotated[PositiveInt, USER_ONLY] = Field(
        default=200, description="Maximum number of tasks kept; old finished ones go first."
    )
    task_max_expired_entries: Annotated[PositiveInt, USER_ONLY] = Field(
        default=500, description="Maximum number of expired tasks whose reason is remembered."
    )


class OhmConfig(Display, History):
    """The whole configuration: an immutable value."""

    default_mode: Annotated[Mode, earlier_unless_trusted("rush", "smart", "deep")] = Field(
        default="smart",
        description="Passed to backends as `RunRequest.mode`; of the built-in ones, `none` alone shows it.",
    )
    subagent_backend: Annotated[Line, BACKEND] = Field(
        default="interactive-sdk", description="The backend of every subagent that has none of its own."
    )
    features: Annotated[Features, DENY_WINS] = Features.unwritten()
    """Switches for parts of the library."""
    painter: Painter = Field(default=Painter.unwritten(), json_schema_extra=RESERVED)
    """Reserved: without effect."""
    subagents: Subagents = Subagents.unwritten()
    """Everything about subagents."""
    providers: Annotated[Mapping[str, Provider], USER_ONLY] = Field(
        default={}, description="OpenAI-compatible providers, by name; not for project files."
    )
    mcp_servers: Annotated[Mapping[str, McpServer], USER_ONLY] = Field(
        default={}, description="MCP servers whose tools subagents may get, by name; not for project files."
    )
    suites: Annotated[tuple[Line, ...], INTERSECT_UNLESS_TRUSTED] = Field(
        default=("task", "primary"), description="The tool suites that are mounted."
    )
    suite_options: Annotated[Mapping[str, JsonObject], OPTIONS] = Field(
        default={}, description="Options of tool suites, by suite name."
    )
    editor_subagent: Line | None = Field(
        default=None, description="The subagent that a session of `ohm acp` begins with; `task` if it is there."
    )
    backend_timeout_ms: Annotated[PositiveInt, ONLY_LOWER] = Field(
        default=180_000, description="Time limit of one run, in milliseconds; waiting in the queue does not count."
    )
    sdk_fallback_to_cli: Annotated[ShortSwitch, DENY_WINS] = Field(
        default=False,
        description="Let `interactive-shell` run what `interactive-sdk` cannot begin: no model, no key, no SDK, a "
        "model that it does not know, a provider that gives no answer.",
    )
    load_plugins: Annotated[PluginNames | None, USER_ONLY] = Field(
        default=None, description="The only installed plugins to load; not for project files."
    )
    block_plugins: Annotated[PluginNames, USER_ONLY] = Field(
        default=(), description="Installed plugins that are not loaded; not for project files."
    )

    @cached_property
    def limit_sources(self) -> tuple[LimitSource, LimitSource]:
        """The limits of every run: those that the user sets, or the defaults; and those that a project sets besides."""
        said, at_most = limit_sources("common", self.subagents.limits, None, self.subagents.ceilings)
        return replace(said, limits=replace(said.limits, soft_ms=self.backend_timeout_ms)), at_most

    def allows_plugin(self, name: str) -> bool:
        """Return True unless one of the two lists leaves out this installed plugin; block wins."""
        return self.allows_own_plugin(name) and (self.load_plugins is None or name in self.load_plugins)

    def allows_own_plugin(self, name: str) -> bool:
        """Return the same for a plugin of ohm-subagents itself, which only `blockPlugins` leaves out."""
        return name not in self.block_plugins

    def said_limits(self) -> Limits:
        """Return the limits of every run without our defaults, for a suite that has other ones."""
        said = self.subagents.limits.model_fields_set
        soft_ms = self.backend_timeout_ms if "backend_timeout_ms" in self.model_fields_set else None
        limits = self.limit_sources[0].limits
        unsaid = {name: None for name in CommonLimits.model_fields if name not in said}
        return replace(limits, soft_ms=soft_ms, **unsaid)
