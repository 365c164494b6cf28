"""Profile: who does the work. Built-ins and the user's come from the same loader; nothing branches on an id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.limits import Budget, Limits
from ohm_subagents.contract.model_pattern import ModelPattern

InputRole = Literal["prompt", "context", "files", "description"]


def fold_id(text: str) -> str:
    """The id of a profile as it is compared: trimmed, without case in any script."""
    return text.strip().casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    """Which child tools a profile may use. `allowed=None` means every tool that exists; a denied tool always loses."""

    allowed: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """One field of a direct tool's input: `prompt` is the main text; the other roles become blocks of the prompt."""

    name: str
    role: InputRole
    required: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Name, prompt, model and tools of a subagent.

    `model` is the profile's own choice; `fallback_model` is used only when nothing else names a model and no provider
    key is there. `feature` names the `features.*` flag that has to be on. `source` is the file it was read from.
    `limits` are of each run, `budget` is of each task with all that it starts, `polling` are tools that may repeat.
    `limits_at_most` and `budget_at_most` are what a project's file says: they only lower what stands without them;
    `overrides` is then the file that `limits` and `budget` are from. `env` names variables of our environment that a
    command-line agent which runs the profile may see. `agent` is there for a profile of 000. With `finalize`, an answer
    only counts if it is handed in by `subagent_finalize` (003); `result_schema` is the JSON schema of its result, which
    is a text without one. `notes` are what of its file is not done, for each of its tasks.
    """

    id: str
    name: str
    summary: str
    prompt: str
    when_to_use: tuple[str, ...] = ()
    primary: bool = False
    internal: bool = False
    model: ModelPattern | None = None
    fallback_model: ModelPattern | None = None
    backend: str | None = None
    tools: ToolPolicy = ToolPolicy()
    inputs: tuple[InputSpec, ...] = ()
    feature: str | None = None
    limits: Limits | None = None
    limits_at_most: Limits | None = None
    budget: Budget | None = None
    budget_at_most: Budget | None = None
    polling: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    agent: AgentOptions | None = None
    finalize: Literal["required"] | None = None
    result_schema: Mapping[str, JsonValue] | None = field(default=None, hash=False)
    notes: tuple[str, ...] = ()
    source: str = ""
    overrides: str = ""
