"""The profiles that ship, made as those of plugins are: no start has to read YAML. Their prompts are `builtin/*.md`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from ohm_subagents.contract.call_rules import CallRules
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import InputSpec, Profile, ToolPolicy

_SEARCH: Final = ToolPolicy(allowed=("read", "grep", "find", "ls", "code_search"))
_EMBEDDED: Final = ModelPattern(provider="local", model="search")
_TITLE: Final = InputSpec(name="description", role="description", description="A title of a few words.")


@cache
def shipped_profiles() -> tuple[Profile, ...]:
    """Return the profiles that ship, in catalogue order."""
    return _librarian(), _oracle(), _finder(), _worker(), _painter()


def _librarian() -> Profile:
    return Profile(
        id="librarian",
        name="Librarian",
        summary="Explains how code works across files, packages and repositories, with references.",
        prompt=_prompt("librarian"),
        when_to_use=(
            "The question is how something works, not only where it is",
            "An answer needs several files, modules or repositories read together",
            "Someone new to the code needs its architecture or its data flow",
            "The history or the contract of an interface has to be understood before a change",
        ),
        primary=True,
        tools=_SEARCH,
        fallback_model=_EMBEDDED,
        inputs=(
            InputSpec(name="query", role="prompt", required=True, description="What to find out about the code."),
            InputSpec(name="context", role="context", description="What is known already, and what the answer is for."),
            _TITLE,
        ),
        source="builtin/librarian.md",
    )


def _oracle() -> Profile:
    return Profile(
        id="oracle",
        name="Oracle",
        summary="Reviews, debugs and plans with careful reasoning; advises, changes nothing.",
        prompt=_prompt("oracle"),
        when_to_use=(
            "A design or a plan needs a second, critical opinion",
            "A change should be reviewed for correctness before it is merged",
            "A bug resists the obvious explanations",
            "Several approaches are possible and their costs differ",
            "A refactoring has consequences that are hard to see",
        ),
        tools=_SEARCH,
        inputs=(
            InputSpec(
                name="task",
                role="prompt",
                required=True,
                description="The question, the decision or the change to judge.",
            ),
            InputSpec(
                name="context", role="context", description="What is known already, constraints, and what was tried."
            ),
            InputSpec(name="files", role="files", description="Paths to inspect first."),
            _TITLE,
        ),
        source="builtin/oracle.md",
    )


def _finder() -> Profile:
    return Profile(
        id="finder",
        name="Finder",
        summary="Finds the places in a code base that do something, by behaviour rather than by name.",
        prompt=_prompt("finder"),
        when_to_use=(
            "The question is where something happens",
            "Code has to be found by what it does, not by an exact text",
            "A search needs several steps, each building on the last",
            "All places that take part in a behaviour are wanted",
            "A concept spans several directories",
        ),
        tools=_SEARCH,
        fallback_model=_EMBEDDED,
        inputs=(
            InputSpec(name="query", role="prompt", required=True, description="What to find, in terms of behaviour."),
            _TITLE,
        ),
        source="builtin/finder.md",
    )


def _painter() -> Profile:
    return Profile(
        id="painter",
        name="Painter",
        summary="Draws or edits vector images (SVG), when asked to explicitly.",
        prompt=_prompt("painter"),
        when_to_use=(
            "The user asked for an SVG image to be made or edited",
            "An icon, diagram, logo or mock-up is the wanted result, and SVG will do",
        ),
        feature="painterImagegen",
        tools=ToolPolicy(allowed=("read", "write", "ls")),
        source="builtin/painter.md",
    )


def _worker() -> Profile:
    """Return the profile with all tools; its rules for commands are a default, since nobody has written them."""
    source = "builtin/task.md"
    asks = CallRules(tool="bash", ask=("@network", "@outside"), source=source, is_default=True)
    return Profile(
        id="task",
        name="Task",
        summary="Carries out one well-defined piece of work on its own, with all tools.",
        prompt=_prompt("task"),
        when_to_use=(
            "A piece of work is independent and can be described completely",
            "Several such pieces can be done in parallel",
            "The work would fill the caller's context with output that nobody needs afterwards",
            "A change spans many files but follows one clear rule",
        ),
        tools=ToolPolicy(
            allowed=("read", "bash", "edit", "write", "grep", "find", "ls", "code_search"), call_rules=(asks,)
        ),
        source=source,
    )


def _prompt(name: str) -> str:
    folder = files("ohm_subagents._profiles").joinpath("builtin")
    return folder.joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
