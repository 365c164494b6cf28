"""The keys of an agent profile's file."""

import re
from typing import Annotated, Final, TypeAlias, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel

from ohm_subagents.contract import Thinking
from ohm_subagents.files import SECRET_VALUE, AnswerKeys, invalid_value
from ohm_subagents.suite import AgentOptions, Err, ModelPattern, Profile, ToolPolicy, parse_model_pattern
from ohm_subagents.suites.delegate import SUITE
from ohm_subagents.suites.delegate.profile_summary import profile_summary

NAME: Final = "letters, digits, '-' and '_'"
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


def _profile_name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise invalid_value("a text of " + NAME)
    return value


def _literally(value: object) -> bool:
    if not isinstance(value, bool):
        raise invalid_value("true or false, not in quotes")
    return value


def _key(value: object) -> str:
    if not isinstance(value, str):
        raise invalid_value("a text", kind=SECRET_VALUE)
    return value


def _listed(value: object) -> object:
    """Return the parts of a comma-separated text, or the items of a list, but for blank ones."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [item for item in items if not isinstance(item, str) or item.strip()]
    return value


def _arguments(value: object) -> object:
    """Return the items as `_listed` does, a number or a switch as the text that it stands for on a command line."""
    items = _listed(value)
    return [_argument(item) for item in cast("list[object]", items)] if isinstance(items, list) else items


def _argument(item: object) -> object:
    if isinstance(item, bool):
        return "true" if item else "false"
    return str(item) if isinstance(item, int | float) else item


Name: TypeAlias = Annotated[str, BeforeValidator(_profile_name)]
Literally: TypeAlias = Annotated[bool, BeforeValidator(_literally)]
Listed: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Arguments: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_arguments)]


class SkillKeys(BaseModel):
    """The keys on skills."""

    model_config = ConfigDict(defer_build=True, frozen=True, alias_generator=to_camel)

    no_skills: Literally = False
    suggested_skills: Listed = ()
    load_skills: Listed = ()


class AgentFrontMatter(SkillKeys, AnswerKeys):
    """The keys of the file."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    provider: str | None = None
    model: str | None = None
    thinking_level: Thinking | None = None
    append_system_prompt: str | None = None
    api_key: Annotated[str, BeforeValidator(_key)] | None = None
    no_tools: Literally = False
    tools: Listed | None = None
    exclude_tools: Listed = ()
    no_extensions: Literally = False
    extensions: Listed = ()
    no_context_files: Literally = False
    extra_args: Arguments = ()

    def profile(self, *, prompt: str, source: str, is_local: bool) -> Profile:
        """Return the profile; `noTools` counts before both lists of tools."""
        agent = AgentOptions(
            provider=self.provider or None,
            model=self.model or None,
            thinking=self.thinking_level,
            appended_prompt=self.append_system_prompt or "",
            api_key=self.api_key or None,
            no_extensions=self.no_extensions,
            extensions=self.extensions,
            no_skills=self.no_skills,
            suggested_skills=self.suggested_skills,
            load_skills=self.load_skills,
            no_context_files=self.no_context_files,
            extra_args=self.extra_args,
            is_local=is_local,
        )
        tools = ToolPolicy(allowed=()) if self.no_tools else ToolPolicy(allowed=self.tools, denied=self.exclude_tools)

        def named(summary: str) -> Profile:
            return Profile(
                id=self.name,
                name=self.name,
                summary=summary,
                prompt=prompt,
                model=_pattern(agent),
                tools=tools,
                agent=agent,
                finalize=self.finalize,
                result_schema=self.result_schema,
                accept=self.accept,
                source=source,
                suite=SUITE,
            )

        return named(profile_summary(named("")))


def _pattern(agent: AgentOptions) -> ModelPattern | None:
    """Return the model if its provider is clear; `thinkingLevel` counts before a suffix."""
    if agent.model is None:
        return None
    provider = agent.provider or ""
    is_whole = not provider or agent.model.lower().startswith(f"{provider.lower()}/")
    parsed = parse_model_pattern(agent.model if is_whole else f"{provider}/{agent.model}")
    if isinstance(parsed, Err):
        return None
    found = parsed.ok_value
    return ModelPattern(provider=found.provider, model=found.model, thinking=agent.thinking or found.thinking)
