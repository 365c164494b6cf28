"""What a coding agent is started with beyond prompt, model and tools: the fields of 000's profiles, and its files."""

from __future__ import annotations

from dataclasses import dataclass, field

from ohm_subagents.contract.model_pattern import Thinking


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """A skill that was found: its name, what it is for, its file, and the text in it."""

    name: str
    description: str
    path: str
    body: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """How a profile of 000 wants its agent. A profile that has them speaks for itself: its prompt is used as it is.

    `provider`, `model` and `thinking` are as the file writes them. `appended_prompt` follows the system prompt.
    `suggested_skills` and `load_skills` are names; once they are found, `skill_paths` has the files of the former and
    `skills` what is in them, and the text of the latter is in `appended_prompt`. `is_local`: it is from a project's
    file. `is_readonly`: it changes nothing (001). `has_task_argument`: a command-line agent is given the task as an
    argument, as 001 has it, in place of standard input. `variables` are set in the environment of such an agent.
    `actions`: of a tool of ours by its name, the only values that its argument `action` may have.
    """

    provider: str | None = None
    model: str | None = None
    thinking: Thinking | None = None
    appended_prompt: str = ""
    api_key: str | None = field(default=None, repr=False)
    no_extensions: bool = False
    extensions: tuple[str, ...] = ()
    no_skills: bool = False
    suggested_skills: tuple[str, ...] = ()
    skill_paths: tuple[str, ...] = ()
    skills: tuple[SkillText, ...] = ()
    load_skills: tuple[str, ...] = ()
    no_context_files: bool = False
    extra_args: tuple[str, ...] = ()
    is_local: bool = False
    is_readonly: bool = False
    has_task_argument: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    actions: tuple[tuple[str, tuple[str, ...]], ...] = ()
