"""`subagents` of ohm.json: what holds for every subagent, and the entry of each."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import Field, InstanceOf, PlainSerializer, PrivateAttr, WithJsonSchema
from pydantic.alias_generators import to_camel

from ohm_subagents._config.jsonc import KeyPath
from ohm_subagents._config.limits import (
    CommonBudget,
    CommonLimits,
    CommonLoop,
    LimitSource,
    OwnBudget,
    OwnLimits,
    OwnLoop,
    limit_sources,
)
from ohm_subagents._config.merge import (
    BACKEND,
    CLONE_UNLESS_TRUSTED,
    LOWER_UNLESS_TRUSTED,
    OFF_UNLESS_TRUSTED,
    ON_UNLESS_TRUSTED,
    ONLY_LOWER,
    ONLY_LOWER_COUNT,
    ONLY_LOWER_OVER_PROFILES,
    ONLY_NEVER,
    RULES,
    STRICTER_SANDBOX,
    USER_ONLY,
    WHOLE,
    earlier_unless_trusted,
)
from ohm_subagents._config.model_menu import MenuEntry, MenuName, ModelFallback, expanded
from ohm_subagents._config.permissions import OPEN, Permissions
from ohm_subagents._config.sandbox import Sandboxing
from ohm_subagents._config.section import JsonObject, Section
from ohm_subagents._config.storage import Storage
from ohm_subagents._config.tool_rules import ToolRules
from ohm_subagents._config.values import AllOrNames, ConfiguredModel, Line, Model, PositiveInt, Switch, WholeNumber
from ohm_subagents._config.workspaces import Workspaces
from ohm_subagents.contract.limits import Budget
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.model_route import INHERIT
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.sandbox import SandboxMode
from ohm_subagents.contract.workspace import Isolation, Land


class SubagentEntry(Section):
    """`subagents.<id>` as it is written."""

    model: ConfiguredModel | None = Field(
        default=None, description="The model of this subagent; or a name of `models`, or `inherit`."
    )
    strict_model: Annotated[Switch | None, ON_UNLESS_TRUSTED] = Field(
        default=None, description="A run of this subagent that another model answers fails; null: as its profile says."
    )
    backend: Annotated[Line | None, BACKEND] = Field(default=None, description="The backend of this subagent.")
    isolation: Annotated[Isolation | None, CLONE_UNLESS_TRUSTED] = Field(
        default=None, description="The files of this subagent, as for all; null: as its profile says."
    )
    land: Annotated[Land | None, ONLY_NEVER] = Field(
        default=None, description="The landing of its work, as for all; null: as its profile says."
    )
    tools: Annotated[
        Annotated[
            InstanceOf[ToolRules],
            PlainSerializer(ToolRules.as_json, return_type=JsonObject),
            WithJsonSchema(ToolRules.json_schema()),
        ]
        | None,
        RULES,
    ] = Field(default=None, description="The child tools of this subagent.")
    sandbox: Annotated[SandboxMode | None, STRICTER_SANDBOX] = Field(
        default=None,
        description="The sandbox of this subagent; a stricter one of its profile, of the call or of all wins.",
    )
    delegate: Annotated[tuple[Line, ...] | None, USER_ONLY] = Field(
        default=None,
        description="Subagents that get the tools of their own configuration where this one starts them; others have "
        "at most the tools of this one. null: as its profile says; not for project files.",
    )
    primary: Annotated[Switch | None, OFF_UNLESS_TRUSTED] = Field(
        default=None, description="Offer this subagent as a direct tool besides; null: as its profile says."
    )
    limits: Annotated[OwnLimits, ONLY_LOWER_OVER_PROFILES] = OwnLimits.unwritten()
    """Limits of each run."""
    loop: Annotated[OwnLoop, ONLY_LOWER_COUNT] = OwnLoop.unwritten()
    """The loop rules of each run."""
    budget: Annotated[OwnBudget, ONLY_LOWER_OVER_PROFILES] = Field(
        default=OwnBudget.unwritten(),
        json_schema_extra={"$comment": "For each task of this subagent, with all that it starts."},
    )
    """The budget of each task, with everything that it starts."""
    _ceilings: frozenset[KeyPath] = PrivateAttr(default=frozenset())
    _unclear: str = PrivateAttr(default="")

    @property
    def unclear(self) -> str:
        """The fault of its budget, which keeps it from running; empty for a sound one."""
        return self._unclear

    @cached_property
    def sources(self) -> tuple[LimitSource, LimitSource]:
        """The limits and the budget that the user sets, and those that a project sets besides."""
        return limit_sources("subagent", self.limits, self.budget, self._ceilings)

    def with_trust(self, ceilings: Iterable[KeyPath], unclear: str) -> Self:
        """Return the same with what its files alone cannot say: which keys are a project's, and what is unclear."""
        entry = self.model_copy()
        entry._ceilings = frozenset(ceilings)  # noqa: SLF001  it is our own
        entry._unclear = unclear  # noqa: SLF001  it is our own
        return entry


EVERY: Final = ""
"""Every subagent, where others are named by their folded id."""


class Scheduling(Section):
    """The most tasks and requests at once."""

    task_max_concurrency: Annotated[PositiveInt, LOWER_UNLESS_TRUSTED] = Field(
        default=3, description="Maximum number of tasks of one parallel batch that run at once."
    )
    max_running: Annotated[PositiveInt | None, LOWER_UNLESS_TRUSTED] = Field(
        default=None,
        description="Maximum number of tasks of all calls that run at once, beside those that they start themselves.",
    )
    max_requests: Annotated[Mapping[str, PositiveInt], ONLY_LOWER] = Field(
        default={}, description="Maximum number of requests to a model provider in flight at once; none: no limit."
    )
    request_retries: Annotated[WholeNumber, LOWER_UNLESS_TRUSTED] = Field(
        default=4, description="Retries of a request that a provider refused because it is overloaded."
    )


Unattended: TypeAlias = Literal["allow", "deny", "wait"]
"""The end of a call that rules ask about where nobody is there to answer."""


class RequestSettings(Section):
    """The requests of subagents for an approval or an answer."""

    expire_ms: Annotated[PositiveInt, USER_ONLY] = Field(
        default=600_000, description="Time after which a request that nobody has answered is denied, in milliseconds."
    )
    unattended: Annotated[Unattended | None, USER_ONLY] = Field(
        default=None,
        description="What becomes of a call that a rule asks about where nobody is there to answer; `wait` holds it "
        "until it is answered or expires. null: `wait`, and `allow` for the rules that come with `task`.",
    )


class Models(Section):
    """The models of subagents."""

    model: ConfiguredModel | None = Field(
        default=None,
        description="The model of every subagent that has none of its own; or a name of `models`, or `inherit`.",
    )
    models: Annotated[Mapping[MenuName, MenuEntry], WHOLE] = Field(
        default={},
        description="A menu of models by name, from which calls choose; a text is short for an object with `model`.",
    )
    model_fallback: ModelFallback = ModelFallback.unwritten()
    """The failures after which the next model of the menu is asked."""

    @cached_property
    def menu(self) -> Mapping[str, tuple[ModelPattern, ...]]:
        """The models of each name of the menu, in the order in which they are asked."""
        return expanded(self.models)

    @cached_property
    def choices(self) -> Mapping[str, str]:
        """The names that a model may choose from, each with the model that it stands for; none without a menu."""
        named = {name: f"{models[0]}" for name, models in self.menu.items()}
        return {**named, INHERIT: "your own"} if named else named


class Background(Section):
    """Work that goes on when the call that started it is over."""

    async_start: Annotated[Literal["refuse", "allow"], earlier_unless_trusted("refuse", "allow")] = Field(
        default="refuse", description="`allow` lets `async: true` start in the background."
    )
    background_after_ms: PositiveInt | None = Field(
        default=None,
        description="Time after which a call that waits goes on in the background and returns the task ids, in"
        " milliseconds, where `asyncStart` is `allow`; by default never.",
    )
    on_close: Annotated[Literal["cancel", "detach"], earlier_unless_trusted("cancel", "detach")] = Field(
        default="cancel",
        description="What becomes of running tasks when the `Ohm` closes: `detach` leaves those whose backend goes on "
        "without it to the next one; all others are cancelled.",
    )


class Subagents(Models, Background, Scheduling, Storage, Sandboxing, Workspaces):
    strict_model: Annotated[Switch, ON_UNLESS_TRUSTED] = Field(
        default=False, description="A run that another model answers than the one asked for fails (`model_mismatch`)."
    )
    send_to_finished: Annotated[Literal["refuse", "resume"], earlier_unless_trusted("refuse", "resume")] = Field(
        default="refuse", description="`resume` lets `send` continue a finished task as a new one."
    )
    requests: RequestSettings = RequestSettings.unwritten()
    """The handling of requests for an approval or an answer."""
    limits: Annotated[CommonLimits, ONLY_LOWER] = CommonLimits.unwritten()
    """Limits of each run, for all subagents."""
    loop: Annotated[CommonLoop, ONLY_LOWER_COUNT] = CommonLoop.unwritten()
    """The loop rules of each run, for all subagents."""
    budget: Annotated[CommonBudget, ONLY_LOWER] = Field(
        default=CommonBudget.unwritten(),
        json_schema_extra={"$comment": "For each start from outside, with all below it."},
    )
    """The budget of each start, with everything below it."""
    agent_profiles: Annotated[AllOrNames | None, USER_ONLY] = Field(
        default=None,
        description="Agent profiles of `agent-profiles/*.md` that are subagents: `true` for all, also in place of "
        "others, a list for these alone; by default those whose name no other profile has. Not for project files.",
    )
    agent_files: Annotated[AllOrNames, USER_ONLY] = Field(
        default=False,
        description="Formats of other programs' agent files that are read: a list of `claude`, `opencode`, `codex`, "
        "`gemini`, `github`, `cursor` and `qwen`, `true` for all; not for project files.",
    )
    model_aliases: Annotated[Mapping[str, Model], USER_ONLY] = Field(
        default={},
        description="Models by the names that such files have for them, say `sonnet`; not for project files.",
    )
    redact: Annotated[AllOrNames, USER_ONLY] = Field(
        default=False,
        description="Suites whose results hold no secrets, as those of `single` never do; not for project files.",
    )
    permissions: Annotated[
        InstanceOf[Permissions],
        PlainSerializer(Permissions.as_json, return_type=JsonObject),
        WithJsonSchema(Permissions.json_schema()),
        RULES,
    ] = Field(default_factory=lambda: OPEN, description="Subagents that may run.")
    profiles: Mapping[str, SubagentEntry] = Field(
        default={}, description="The long form of `subagents.<id>`; the short form wins."
    )
    backends: Annotated[Mapping[str, JsonObject], USER_ONLY] = Field(
        default={},
        description="Options of backends, by backend id. `type` makes another backend, of a type that a plugin "
        "offers. Not for project files.",
    )

    _ceilings: frozenset[KeyPath] = PrivateAttr(default=frozenset())
    _unclear: str = PrivateAttr(default="")

    @property
    def ceilings(self) -> frozenset[KeyPath]:
        """The keys of `limits` that a project gives, and that only lower what others say."""
        return self._ceilings

    def entry(self, profile_id: str) -> SubagentEntry:
        """Return the settings of a profile; ids are trimmed and folded."""
        return self.profiles.get(fold_id(profile_id), self.unnamed)

    @cached_property
    def unnamed(self) -> SubagentEntry:
        """The settings of a profile that no entry names."""
        return SubagentEntry.unwritten().with_trust((), self._unclear)

    def tree_budget(self) -> Budget:
        """Return what each start from outside may spend, with everything below it, unless the call says less."""
        return self._tree_budget

    @cached_property
    def _tree_budget(self) -> Budget:
        return Budget(**self.budget.as_arguments())

    def with_trust(self, ceilings: Iterable[KeyPath], unclear: Mapping[str, str]) -> Self:
        """Return the same with what its files alone cannot say: which paths are a project's, which budgets unclear.

        `unclear` is by folded id; `EVERY` is every subagent.
        """
        keys: defaultdict[str, set[KeyPath]] = defaultdict(set)
        for _, *section in ceilings:
            keys[section[1] if section[0] == "profiles" else EVERY].add(tuple(section[-2:]))
        every = unclear.get(EVERY, "")
        names = (*self.profiles, *sorted(unclear.keys() - self.profiles.keys() - {EVERY}))
        entries = {name: self.profiles.get(name, SubagentEntry.unwritten()) for name in names}
        bounded = {name: one.with_trust(keys[name], every or unclear.get(name, "")) for name, one in entries.items()}
        subagents = self.model_copy(update={"profiles": bounded})
        subagents._ceilings = frozenset(keys[EVERY])  # noqa: SLF001  it is our own
        subagents._unclear = every  # noqa: SLF001  it is our own
        return subagents


RESERVED_IDS: Final = frozenset(to_camel(name).lower() for name in Subagents.model_fields)
"""Keys of `subagents` that cannot be profile ids, lower-cased."""
