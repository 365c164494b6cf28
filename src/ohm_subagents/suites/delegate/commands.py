"""`ohm delegate`, `ohm profiles` and `ohm profile`, as they are typed. `ohm --help` loads this: no engine."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ohm_subagents.commands import BAD_USAGE, HERE, AsJson, Config, Cwd, complain, directory, finish, inspect

_SHOW = "show"
_TASKS = (
    'A file with the tasks as JSON, say [{"name": "docs", "prompt": "Update the docs."}], or with all arguments of '
    "delegate_to_subagents; - for standard input."
)
_PROMPT = typer.Option("--prompt", help="System prompt; without it, standard input; on a terminal none, to be written.")
delegate_app = typer.Typer(add_completion=False, rich_markup_mode=None)
profiles_app = typer.Typer(add_completion=False, rich_markup_mode=None)


@delegate_app.command(short_help="Delegate tasks to parallel subagents.")
def delegate(
    tasks: Annotated[str, typer.Argument(help=_TASKS)],
    *,
    backend: Annotated[str | None, typer.Option("--backend", help="Id of the backend.")] = None,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Delegate tasks to parallel subagents: live windows on a terminal, one line a task in a pipe."""
    from ohm_subagents.suites.delegate.delegate_command import delegate, tasks_in

    if backend is not None and not backend.strip():
        complain("--backend is empty. Give the id of a backend, or leave it out; `ohm doctor` lists them.")
        raise typer.Exit(BAD_USAGE)
    place, asked = directory(cwd, as_json=as_json), tasks_in(tasks)
    finish(lambda: delegate(asked, cwd=place, config=config, as_json=as_json, backend=backend))


class _ByName(TyperGroup):
    """`ohm profile <name>` is short for `ohm profile show <name>`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  typer's own class has no public name
        is_name = bool(args) and args[0] not in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, [_SHOW, *args] if is_name else args)


profile_app = typer.Typer(
    help="Show an agent profile, or write a `new` one.",
    cls=_ByName,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@profiles_app.command(short_help="List the agent profiles and their faults.")
def profiles(cwd: Cwd = HERE, config: Config = None) -> None:
    """List the agent profiles, and what is wrong with any of their files."""
    from ohm_subagents.suites.delegate.profile_commands import print_agents

    inspect(print_agents, cwd=cwd, config=config)


@profile_app.command(_SHOW)
def show(
    name: Annotated[str, typer.Argument(help="Name of the agent profile; `ohm profiles` lists them.")],
    *,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Show one agent profile."""
    from ohm_subagents.suites.delegate.profile_commands import print_agent

    inspect(partial(print_agent, name), cwd=cwd, config=config)


@profile_app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="Name of letters, digits, '-' and '_'.")],
    *,
    project: Annotated[bool, typer.Option("--project", help="Write to .pi/ of the project, not yours.")] = False,
    prompt: Annotated[str | None, _PROMPT] = None,
    append: Annotated[str | None, typer.Option("--append", help="Text after the system prompt.")] = None,
    provider: Annotated[str | None, typer.Option("--provider", help="Model provider, such as anthropic.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model, as [<provider>/]<model>[:<thinking>].")] = None,
    thinking: Annotated[
        str | None, typer.Option("--thinking", help="off, minimal, low, medium, high or xhigh.")
    ] = None,
    tools: Annotated[str | None, typer.Option("--tools", help="Only these tools, comma-separated.")] = None,
    exclude_tools: Annotated[str | None, typer.Option("--exclude-tools", help="All tools but these.")] = None,
    no_tools: Annotated[bool, typer.Option("--no-tools", help="Allow no tool at all.")] = False,
    extensions: Annotated[str | None, typer.Option("--extensions", help="Extension paths, comma-separated.")] = None,
    no_extensions: Annotated[bool, typer.Option("--no-extensions", help="Load no extension of pi.")] = False,
    skills: Annotated[str | None, typer.Option("--skills", help="Skills to suggest, comma-separated.")] = None,
    load_skills: Annotated[str | None, typer.Option("--load-skills", help="Skills to load, comma-separated.")] = None,
    no_skills: Annotated[bool, typer.Option("--no-skills", help="Allow no skill.")] = False,
    no_context_files: Annotated[bool, typer.Option("--no-context-files", help="Read no AGENTS.md.")] = False,
    extra_args: Annotated[str | None, typer.Option("--extra-args", help="Arguments for pi, comma-separated.")] = None,
    cwd: Cwd = HERE,
) -> None:
    """Write the file of a new agent profile. Add an API key in the file itself: others can read what is typed."""
    from ohm_subagents.suites.delegate.profile_commands import NewProfile, write_agent

    keys = {
        "provider": provider,
        "model": model,
        "thinkingLevel": thinking,
        "appendSystemPrompt": append,
        "noTools": no_tools,
        "tools": tools,
        "excludeTools": exclude_tools,
        "noExtensions": no_extensions,
        "extensions": extensions,
        "noSkills": no_skills,
        "suggestedSkills": skills,
        "loadSkills": load_skills,
        "noContextFiles": no_context_files,
        "extraArgs": extra_args,
    }
    typed = NewProfile(
        name=name,
        is_local=project,
        keys={key: value for key, value in keys.items() if value not in {None, False}},
        prompt=prompt,
        cwd=directory(cwd),
    )
    finish(partial(write_agent, typed))
