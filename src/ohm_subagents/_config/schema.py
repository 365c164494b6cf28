"""ohm.json as frozen models: snake_case inside, the documented camelCase as aliases (004; house 9.9 to 9.11)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import (
    Field,
    InstanceOf,
    JsonValue,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

from ohm_subagents._config.limits import CommonBudget, CommonLimits, CommonLoop, OwnBudget, OwnLimits, OwnLoop
from ohm_subagents._config.painter import Painter
from ohm_subagents._config.permissions import OPEN, Permissions
from ohm_subagents._config.reserved import RESERVED
from ohm_subagents._config.section import Section
from ohm_subagents._config.tool_rules import ToolRules
from ohm_subagents._config.values import (
    AllOrNames,
    ConfiguredModel,
    Flag,
    Line,
    Names,
    PositiveInt,
    ShortSwitch,
    Switch,
    UnclearModel,
    VariableName,
    WebAddress,
    WholeNumber,
)
from ohm_subagents.contract.limits import Budget, Limits, LoopPolicy
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import fold_id

Mode: TypeAlias = Literal["rush", "smart", "deep"]
JsonObject: TypeAlias = dict[str, JsonValue]


class Features(Section):
    handoff: Switch = Field(
        default=True, description="Handing a conversation over to another agent.", json_schema_extra=RESERVED
    )
    subagents: Switch = Field(default=True, description="Whether tasks may be started at all.")
    session_thread_search: Switch = Field(
        default=True, description="Searching earlier conversations.", json_schema_extra=RESERVED
    )
    handoff_visualizer: Switch = Field(
        default=True, description="Showing what was handed over.", json_schema_extra=RESERVED
    )
    painter_imagegen: Switch = Field(default=True, description="Whether the `painter` subagent is available.")

    def is_on(self, name: str) -> bool:
        """Whether the flag that a profile names as its `feature` is on; a flag that does not exist is off."""
        return any(bool(getattr(self, field)) for field in type(self).model_fields if to_camel(field) == name)


FEATURES: Final = tuple(to_camel(name) for name in Features.model_fields)


class SubagentEntry(Section):
    """`subagents.<id>` as it is written."""

    model: ConfiguredModel | None = Field(default=None, description="The model of this subagent.")
    backend: Line | None = Field(default=None, description="The backend of this subagent.")
    tools: (
        Annotated[
            InstanceOf[ToolRules],
            PlainSerializer(ToolRules.as_json, return_type=JsonObject),
            WithJsonSchema(ToolRules.json_schema()),
        ]
        | None
    ) = Field(default=None, description="The child tools of this subagent.")
    primary: Switch | None = Field(
        default=None, description="Whether this subagent is a direct tool besides; null is as its profile says."
    )
    limits: OwnLimits = OwnLimits()
    loop: OwnLoop = OwnLoop()
    budget: OwnBudget = Field(
        default=OwnBudget(), json_schema_extra={"$comment": "For each task of this subagent, with all that it starts."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSettings:
    """What the configuration changes about one profile; None leaves it as it is.

    `limits` and `budget` are the user's word. `limits_at_most` and `budget_at_most` are a project's: they lower what
    stands without them. `loop` is complete but for the profile's own polling tools.
    """

    model: ModelPattern | UnclearModel | None = None
    backend: str | None = None
    tools: ToolRules | None = None
    primary: bool | None = None
    limits: Limits = field(default_factory=Limits)
    limits_at_most: Limits = field(default_factory=Limits)
    loop: LoopPolicy = field(default_factory=LoopPolicy)
    budget: Budget = field(default_factory=Budget)
    budget_at_most: Budget = field(default_factory=Budget)
    budget_unclear: str = ""


_UNNAMED: Final = ""


class Subagents(Section):
    task_max_concurrency: PositiveInt = Field(
        default=3, description="How many tasks of one parallel batch run at once."
    )
    max_running: PositiveInt | None = Field(
        default=None, description="How many tasks run at once over all calls, beside those that they start themselves."
    )
    task_retention_ms: PositiveInt = Field(
        default=86_400_000, description="How long a finished task can be looked up, in milliseconds."
    )
    model: ConfiguredModel | None = Field(
        default=None, description="The model of every subagent that has none of its own."
    )
    send_to_finished: Literal["refuse", "resume"] = Field(
        default="refuse", description="Whether `send` to a finished task continues it as a new task."
    )
    async_start: Literal["refuse", "allow"] = Field(
        default="refuse", description="Whether `async: true` starts in the background."
    )
    store: Literal["sqlite", "snapshot", "memory"] = Field(
        default="sqlite",
        description="Where tasks are kept: a database that processes share, the JSON file of one process, or nowhere.",
    )
    store_sync: Literal["normal", "full"] = Field(
        default="normal", description="Whether `sqlite` waits for the disk, so that a power cut loses nothing either."
    )
    limits: CommonLimits = CommonLimits()
    loop: CommonLoop = CommonLoop()
    budget: CommonBudget = Field(
        default=CommonBudget(), json_schema_extra={"$comment": "For each start from outside, with all below it."}
    )
    max_requests: Mapping[str, PositiveInt] = Field(
        default={}, description="How many requests to a model provider are in flight at once; without it no limit."
    )
    request_retries: WholeNumber = Field(
        default=4, description="How often a request is made again that a provider refused because it is overloaded."
    )
    agent_profiles: AllOrNames = Field(
        default=False,
        description="Which agent profiles of `agent-profiles/*.md` are subagents as well; not for project files.",
    )
    redact: AllOrNames = Field(
        default=False,
        description="Suites whose results hold no secrets, as those of `single` never do; not for project files.",
    )
    permissions: Annotated[
        InstanceOf[Permissions],
        PlainSerializer(Permissions.as_json, return_type=JsonObject),
        WithJsonSchema(Permissions.json_schema()),
    ] = Field(default=OPEN, description="Which subagents may run.")
    profiles: Mapping[str, SubagentEntry] = Field(
        default={}, description="The long form of `subagents.<id>`; the short form wins."
    )
    backends: Mapping[str, JsonObject] = Field(
        default={}, description="Options of backends, by backend id; not for project files."
    )

    def entry(self, profile_id: str) -> ProfileSettings:
        """What is configured for a profile; ids are trimmed and folded."""
        return self._entries.get(fold_id(profile_id), self.unnamed)

    @property
    def unnamed(self) -> ProfileSettings:
        """What holds for a profile that nothing here is about."""
        return self._entries[_UNNAMED]

    @cached_property
    def _entries(self) -> Mapping[str, ProfileSettings]:
        written = {_UNNAMED: SubagentEntry(), **self.profiles}
        return {profile_id: self._settings(entry) for profile_id, entry in written.items()}

    def _settings(self, written: SubagentEntry) -> ProfileSettings:
        limits, limits_at_most = written.limits.limits()
        budget, budget_at_most = written.budget.budget()
        return ProfileSettings(
            model=written.model,
            backend=written.backend,
            tools=written.tools,
            primary=written.primary,
            limits=limits,
            limits_at_most=limits_at_most,
            loop=self.loop.policy(written.loop),
            budget=budget,
            budget_at_most=budget_at_most,
            budget_unclear=self.budget.unclear or written.budget.unclear,
        )

    def tree_budget(self) -> Budget:
        """What each start from outside may spend, with everything below it, if the call says nothing else."""
        return self._tree_budget

    @cached_property
    def _tree_budget(self) -> Budget:
        said, _ = self.budget.budget()
        return said


RESERVED_IDS: Final = frozenset(to_camel(name).lower() for name in Subagents.model_fields)
"""Keys of `subagents` that cannot be profile ids, lower-cased."""


class ProviderModel(Section):
    """`"name"` is short for `{"id": "name"}`."""

    id: Line = Field(description="The model's name at the provider.")
    supports_thinking: Switch = Field(default=False, description="Whether the model takes a thinking level.")
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


class OhmConfig(Section):
    """The whole configuration: an immutable value."""

    default_mode: Mode = Field(default="smart", description="How thorough a subagent should be.")
    subagent_backend: Line = Field(
        default="interactive-sdk", description="The backend of every subagent that has none of its own."
    )
    features: Features = Features()
    painter: Painter = Field(default=Painter(), json_schema_extra=RESERVED)
    subagents: Subagents = Subagents()
    providers: Mapping[str, Provider] = Field(
        default={}, description="OpenAI-compatible providers, by name; not for project files."
    )
    suites: tuple[Line, ...] = Field(default=("task", "primary"), description="The tool suites that are mounted.")
    suite_options: Mapping[str, JsonObject] = Field(default={}, description="Options of tool suites, by suite name.")
    output_max_chars: PositiveInt = Field(default=8000, description="Cap of an answer in a payload, in characters.")
    onupdate_throttle_ms: PositiveInt = Field(
        default=120, description="Least time between two live updates, in milliseconds."
    )
    backend_timeout_ms: PositiveInt = Field(
        default=180_000, description="How long one run may take, in milliseconds; waiting in the queue is free."
    )
    task_max_events: PositiveInt = Field(default=120, description="How many events are kept of one task.")
    task_max_entries: PositiveInt = Field(
        default=200, description="How many tasks are kept; old finished ones go first."
    )
    task_max_expired_entries: PositiveInt = Field(default=500, description="How many reasons of expiry are remembered.")
    result_preview_lines: PositiveInt = Field(default=12, description="Lines of an answer in a collapsed view.")
    transcript_tail_lines: PositiveInt = Field(default=4, description="Newest tool rows in a collapsed view.")
    sdk_fallback_to_cli: ShortSwitch = Field(
        default=False,
        description="Whether `interactive-shell` runs what `interactive-sdk` cannot begin: no model, no key, no SDK, a "
        "model that it does not know, a provider that gives no answer.",
    )
    debug: Flag = Field(default=False, description="Whether views show every field of a result.")
    ui_mode: Literal["off", "compact", "verbose"] = Field(
        default="off", description="The live widget below a host's prompt."
    )
    ui_update_ms: PositiveInt = Field(
        default=150, description="Least time between two widget updates, in milliseconds."
    )
    ui_idle_grace_ms: PositiveInt = Field(
        default=2000, description="How long a finished task stays in the widget, in milliseconds."
    )
    load_plugins: Names | None = Field(
        default=None, description="The only installed plugins to load; not for project files."
    )
    block_plugins: Names = Field(
        default=(), description="Installed plugins that are not loaded; not for project files."
    )

    def common_limits(self) -> tuple[Limits, Limits]:
        """The clocks of every run, where nothing else is said, and what a project's file says besides: at most that."""
        return self._common_limits

    @cached_property
    def _common_limits(self) -> tuple[Limits, Limits]:
        said, at_most = self.subagents.limits.limits()
        return replace(said, soft_ms=self.backend_timeout_ms), at_most

    def said_limits(self) -> Limits:
        """Those of them that are not defaults of ours: for whoever has other defaults."""
        said = self.subagents.limits.model_fields_set
        soft_ms = self.backend_timeout_ms if "backend_timeout_ms" in self.model_fields_set else None
        clocks = ("idle_ms", "tool_ms", "extend_ms", "cap_ms")
        return replace(self.common_limits()[0], soft_ms=soft_ms, **{name: None for name in clocks if name not in said})
