"""The fields of each op of `task`, which validate them, and of which its schema is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StringConstraints, ValidationInfo
from pydantic_core import PydanticCustomError

from ohm_subagents.contract.acceptance import ALLOWED, Acceptance, read_acceptance
from ohm_subagents.contract.commands import (
    NO_OVERRIDES,
    AnswerRequest,
    Cancel,
    Command,
    GetTasks,
    LandWork,
    Overrides,
    Send,
    Start,
    StartItem,
    Wait,
    WaitMode,
)
from ohm_subagents.contract.requests import Answer, Approve, Deny
from ohm_subagents.contract.requests import Text as AnswerText
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.sandbox import SANDBOX_MODES, SandboxMode
from ohm_subagents.contract.spelling import nearest_name
from ohm_subagents.contract.workspace import Isolation, Land

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def _id_text(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise PydanticCustomError("not_text", "a non-blank text")


def _listed(value: object) -> object:
    """Read one id as a list of one."""
    return [value] if isinstance(value, str) else value


def _whole(value: object) -> int:
    """Read a whole number, written `10` or `10.0`; nothing else is rounded or read as one."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, int) and not isinstance(whole, bool) and whole >= 1:
        return whole
    raise PydanticCustomError("not_whole", "a whole number of milliseconds, 1 or more")


def _flag(value: object) -> object:
    """Read a flag; null is the default."""
    return False if value is None else value


def _mode(value: object) -> object:
    """Read a mode; null is the default."""
    if value is None:
        return "all"
    if value in get_args(WaitMode):
        return value
    raise PydanticCustomError("not_mode", "all or any")


def _model_name(value: object, info: ValidationInfo) -> str | None:
    """Read one of the names that the context of the validation has; without any, the key is unknown and ignored."""
    names = cast("Mapping[str, Collection[str]]", info.context or {}).get("models", ())
    if value is None or not names:
        return None
    if not isinstance(value, str) or value.strip() not in names:
        near = nearest_name(value, names) if isinstance(value, str) else None
        meant = "" if near is None else f" (did you mean '{near}'?)"
        raise PydanticCustomError("not_model", "{what}", {"what": f"one of {', '.join(names)}{meant}"})
    return value.strip()


def _isolation(value: object) -> object:
    if value is None or value in get_args(Isolation):
        return value
    raise PydanticCustomError("not_isolation", " or ".join(get_args(Isolation)))


def _sandbox(value: object) -> object:
    if value is None or value in SANDBOX_MODES:
        return value
    raise PydanticCustomError("not_sandbox", "required, preferred or off")


def _land(value: object) -> object:
    if value is None or value in get_args(Land):
        return value
    raise PydanticCustomError("not_land", "ask, never or clean")


def _checks(value: object) -> Acceptance | None:
    """Read the checks that a model has written."""
    match read_acceptance(value, by_model=True):
        case Err(fault):
            fact, _, allowed = fault.partition("; allowed: ")
            raise PydanticCustomError("not_checks", "{what}", {"what": f"{allowed or ALLOWED} ({fact})"})
        case Ok(accept):
            return accept


def _decision(value: object) -> object:
    if value in get_args(Decision):
        return value
    raise PydanticCustomError("not_decision", "approve, deny or text")


def _scope(value: object) -> object:
    """Read a scope; null is the default. No model approves for always."""
    if value is None:
        return "call"
    if value in get_args(TaskScope):
        return value
    raise PydanticCustomError("not_scope", "call or task")


LandWord = Annotated[Land | None, BeforeValidator(_land)]
SandboxWord = Annotated[SandboxMode | None, BeforeValidator(_sandbox)]
IsolationWord = Annotated[Isolation | None, BeforeValidator(_isolation)]
Checks = Annotated[Acceptance | None, BeforeValidator(_checks)]
Decision = Literal["approve", "deny", "text"]
TaskScope = Literal["call", "task"]
Flag = Annotated[StrictBool, BeforeValidator(_flag)]
Text = Annotated[str, StringConstraints(strict=True, min_length=1)]
Words = Annotated[str, StringConstraints(strict=True, pattern=r"\S")]
TaskIdText = Annotated[Text, BeforeValidator(_id_text)]
ModelName = Annotated[str | None, BeforeValidator(_model_name)]
TaskIds = Annotated[tuple[TaskIdText, ...], BeforeValidator(_listed), Field(min_length=1)]


class _Fields(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, populate_by_name=True)


class TaskFields(_Fields):
    """One task to start."""

    subagent_type: Text = Field(description="Id of the subagent profile, from the roster.")
    description: Words = Field(description="What the task is, in a few words, for people.")
    prompt: Words = Field(description="The whole task for the subagent; it sees nothing else.")
    asynchronous: Flag = Field(default=False, alias="async", description="Not allowed by default.")

    model: ModelName | None = Field(default=None, description="The model that does the work; without it the usual one.")

    isolation: IsolationWord | None = Field(
        default=None, description="clone: work on a clone of the files, whose changes are kept apart."
    )

    sandbox: SandboxWord | None = Field(
        default=None, description="required: its programs reach the working directory only, or do not run."
    )

    land: LandWord | None = Field(
        default=None, description="clean: what it did in a clone lands when it has succeeded, where it fits."
    )

    accept: Checks | None = Field(
        default=None, description="Checks of the outcome, such as file: out.md and run: pytest -q."
    )

    def item(self) -> StartItem:
        overrides = NO_OVERRIDES
        if {self.model, self.isolation, self.sandbox, self.land, self.accept} != {None}:
            overrides = Overrides(
                model=self.model,
                isolation=self.isolation,
                sandbox=self.sandbox,
                land=self.land,
                accept=self.accept,
            )
        return StartItem(
            profile=self.subagent_type, description=self.description, prompt=self.prompt, overrides=overrides
        )


class StartBatch(_Fields):
    """Several tasks; results come in input order."""

    tasks: tuple[TaskFields, ...] = Field(min_length=1, description="Tasks to start in one call.")
    parallel: Flag = Field(default=False, description="Run the tasks at the same time, within the limit.")
    asynchronous: Flag = Field(default=False, alias="async", description="Not allowed by default.")

    def command(self) -> Start:
        return Start(
            items=tuple(task.item() for task in self.tasks),
            parallel=self.parallel,
            background=self.asynchronous or any(task.asynchronous for task in self.tasks),
            may_go_on=True,
        )


class StartSingle(TaskFields):
    """One task."""

    def command(self) -> Start:
        return Start(items=(self.item(),), background=self.asynchronous, may_go_on=True)


class StatusFields(_Fields):
    """The tasks to look at."""

    ids: TaskIds = Field(description="Ids of tasks, for status and wait; `id` is short for one.")

    def command(self) -> Command:
        return GetTasks(ids=self.ids)


class WaitFields(StatusFields):
    """The tasks to wait for, and how long."""

    timeout_ms: Annotated[int, BeforeValidator(_whole)] | None = Field(
        default=None, description="How long to wait, in milliseconds; without it until all are settled."
    )
    mode: Annotated[WaitMode, BeforeValidator(_mode)] = Field(
        default="all", description="For wait: all waits until every task is settled, any until one is."
    )

    def command(self) -> Command:
        return Wait(ids=self.ids, timeout_ms=self.timeout_ms, mode=self.mode, until_asked=True)


class SendFields(_Fields):
    """A follow-up to a task."""

    id: TaskIdText = Field(description="Id of the task, for send and cancel.")
    prompt: Words = Field(description="The follow-up.")

    def command(self) -> Command:
        return Send(id=self.id, prompt=self.prompt)


class AnswerFields(_Fields):
    """The answer to a request of a subagent."""

    request: Words = Field(description="Id of the request, as status and wait show it, for answer.")
    decision: Annotated[Decision, BeforeValidator(_decision)] = Field(
        description="approve or deny a tool call or a yes-no question, or text."
    )
    scope: Annotated[TaskScope, BeforeValidator(_scope)] = Field(
        default="call", description="For approve: this call alone, or the same call in the whole task."
    )
    text: str = Field(default="", description="The answer of decision text, or the reason of deny.")

    def command(self) -> Command:
        match self.decision:
            case "approve":
                answer: Answer = Approve(self.scope)
            case "deny":
                answer = Deny(self.text)
            case "text":
                answer = AnswerText(self.text)
        return AnswerRequest(id=self.request.strip(), answer=answer)


class CancelFields(_Fields):
    """The task to stop."""

    id: TaskIdText = Field(description="Id of the task, for send and cancel.")

    def command(self) -> Command:
        return Cancel(id=self.id)


class LandFields(CancelFields):
    """The task whose work is to land."""

    def command(self) -> Command:
        return LandWork(id=self.id)


class DiscardFields(CancelFields):
    """The task whose work is to go."""

    def command(self) -> Command:
        return LandWork(id=self.id, op="discard")
