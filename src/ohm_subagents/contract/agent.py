"""The options of a coding agent, beyond its prompt, model and tools."""

from __future__ import annotations

from dataclasses import field

from ohm_subagents._records import dataclass
from ohm_subagents.contract.model_pattern import Thinking


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """A skill that was found."""

    name: str
    """Its name."""
    description: str
    """A summary of its purpose."""
    path: str
    """Its file."""
    body: str = field(repr=False)
    """The text in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillOptions:
    """The skills of a coding agent."""

    no_skills: bool = False
    """It is given no skill."""
    suggested_skills: tuple[str, ...] = ()
    """Names of skills that it may read."""
    skill_paths: tuple[str, ...] = ()
    """The files of `suggested_skills`, once they are found."""
    skills: tuple[SkillText, ...] = ()
    """The suggested skills that were found, with their texts."""
    load_skills: tuple[str, ...] = ()
    """Names of skills whose text is in its prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions(SkillOptions):
    """The options of a coding agent for a profile, whose prompt is then used as it is."""

    provider: str | None = None
    """The provider, as the file writes it."""
    model: str | None = None
    """The model, as the file writes it."""
    thinking: Thinking | None = None
    """The thinking level, as the file writes it."""
    appended_prompt: str = ""
    """A text that follows the system prompt; of `load_skills` too, once they are found."""
    api_key: str | None = field(default=None, repr=False)
    """The key of the provider."""
    no_extensions: bool = False
    """It loads no extension."""
    extensions: tuple[str, ...] = ()
    """The extensions that it loads."""
    no_context_files: bool = False
    """It reads no context file of the project."""
    extra_args: tuple[str, ...] = ()
    """More arguments of its command line."""
    is_local: bool = False
    """It is from a project's file."""
    is_readonly: bool = False
    """It changes nothing."""
    has_task_argument: bool = False
    """A command-line agent is given the task as an argument, and not on standard input."""
    variables: tuple[tuple[str, str], ...] = ()
    """Variables of its environment, by name."""
    actions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """By the name of a tool of ours: the only values of its argument `action`."""
