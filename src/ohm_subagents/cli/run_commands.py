"""The parameters of `ohm run` and `ohm call`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, get_args

import typer

from ohm_subagents._terminal.command import typed_text
from ohm_subagents.commands import BAD_USAGE, HERE, AsJson, Config, Cwd, Server, complain, finish

if TYPE_CHECKING:
    from ohm_subagents import RunOptions
    from ohm_subagents.contract import Budget


Profile: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        help="Id of the subagent, as `ohm subagents` lists them; leave it out with --resume.", show_default=False
    ),
]
Prompt: TypeAlias = Annotated[
    str | None,
    typer.Argument(help="The task, as one argument in quotes; - for standard input.", show_default=False),
]
Resume: TypeAlias = Annotated[
    str | None,
    typer.Option("--resume", metavar="<task>", help="Go on with the conversation of this task."),
]
Model: TypeAlias = Annotated[
    str | None, typer.Option("--model", help="Model, as <provider>/<model>[:<thinking>] or a name.")
]
Allow: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", metavar="<entry>", help="Leave it no more of its tools than this one, or these calls; '' for none."
    ),
]
Deny: TypeAlias = Annotated[
    list[str] | None, typer.Option("--deny", metavar="<entry>", help="Leave it without this tool, or these calls.")
]
BudgetNumbers: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="<name>=<number>",
        help="Limit it and all that it starts, in the words of ohm.json: requests, tokens, costUsd, toolCalls, spawns, "
        "depth or wallMs; may be repeated.",
    ),
]
Accept: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        metavar="<check>",
        help="Check this after the answer: 'file: <path>' or 'run: <command line>'; may be repeated.",
    ),
]
Require: TypeAlias = Annotated[
    bool, typer.Option("--require", help="With --accept: the task fails unless all of its checks pass.")
]
FilesOf: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--isolation",
        metavar="none|clone",
        help="With clone it works on a clone of the files, and its changes are kept apart: see `ohm diff`, `ohm land`.",
    ),
]
LandWhen: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--land",
        metavar="never|ask|clean",
        help="Land what it did in its clone, once it has succeeded: where it fits, or if you agree to that.",
    ),
]
HowHeld: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--sandbox",
        metavar="required|preferred|off",
        help="Hold what it runs to its directory: always, or where the machine can; the strictest said counts.",
    ),
]
Detach: TypeAlias = Annotated[
    bool, typer.Option("--detach", help="Print its id, and leave it to the server; without --server, to yours.")
]

_NO_SERVER: Final = "--server none exclude each other: only a server goes on with the task."
_RESUMED: Final = "--resume exclude each other: `ohm send` gives a task of a server a follow-up."


def run(
    context: typer.Context,
    profile: Profile = None,
    prompt: Prompt = None,
    *,
    resume: Resume = None,
    model: Model = None,
    backend: Annotated[str | None, typer.Option("--backend", help="Backend id; `ohm doctor` lists them.")] = None,
    allow: Allow = None,
    deny: Deny = None,
    budget: BudgetNumbers = None,
    accept: Accept = None,
    require: Require = False,
    isolation: FilesOf = None,
    land: LandWhen = None,
    sandbox: HowHeld = None,
    detach: Detach = False,
    server: Server = None,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Run one task: live on a terminal, the answer alone in a pipe."""
    subagent, words = typed_words(context, [profile, prompt, *context.args], resume)
    if detach and (resume is not None or server == "none"):
        complain(f"--detach and {_NO_SERVER if resume is None else _RESUMED}")
        raise typer.Exit(BAD_USAGE)
    from ohm_subagents.cli.run import Typed, detached, entries, resumed, run
    from ohm_subagents.contract.sandbox import SANDBOX_MODES
    from ohm_subagents.contract.workspace import Isolation, Land

    typed = Typed.served(server, cwd, config, as_json=as_json)
    options: RunOptions = {
        "model": model,
        "backend": backend,
        "allow": entries(allow),
        "deny": entries(deny) or (),
        "budget": None if budget is None else typed_budget(budget),
        "accept": typed_checks(accept, require=require),
        "isolation": typed_word("--isolation", isolation, get_args(Isolation)),
        "land": typed_word("--land", land, get_args(Land)),
        "sandbox": typed_word("--sandbox", sandbox, SANDBOX_MODES),
    }
    if resume is not None:
        finish(partial(resumed, resume, [typed_text(one) for one in words], options, typed))
    finish(partial(detached if detach else run, subagent, typed_text(words[0]), options, typed))


def typed_words(context: typer.Context, given: list[str | None], resume: str | None) -> tuple[str, list[str]]:
    """Return the subagent, empty with `--resume`, and what is beside it; leave with 2 for no prompt or one in parts."""
    from ohm_subagents.cli.run import unquoted

    words = [one for one in given if one is not None]
    subagent = words.pop(0) if resume is None and words else ""
    if not words:
        context.fail(f"Missing argument '{'prompt' if subagent or resume else 'profile'}'.")
    if resume is None and len(words) > 1:
        complain(unquoted(subagent, words))
        raise typer.Exit(BAD_USAGE)
    return subagent, words


def typed_budget(typed: list[str]) -> Budget:
    """Return the budget of the texts of `--budget`, in the words of ohm.json; leave with 2 for what is none."""
    from pydantic.alias_generators import to_camel

    from ohm_subagents.contract import Budget
    from ohm_subagents.plugin import nearest_name

    fields, budget = {to_camel(field): field for field in Budget.__slots__}, Budget()
    for one in typed:
        name, _, number = one.partition("=")
        try:
            change: dict[str, Any] = {fields[name]: number if name == "costUsd" else int(number)}
            budget = replace(budget, **change)
        except (KeyError, ValueError):
            near = None if name in fields else nearest_name(name, fields)
            meant = "" if near is None else f"Did you mean '{near}'? "
            complain(f"'{one}' is no limit of a budget. {meant}Allowed: <name>=<number>, of {', '.join(fields)}.")
            raise typer.Exit(BAD_USAGE) from None
    return budget


def typed_checks(typed: list[str] | None, *, require: bool) -> dict[str, object] | None:
    """Return the checks of `--accept`, None for none; leave with 2 for what is none, or for `--require` alone."""
    from ohm_subagents.contract import Err
    from ohm_subagents.contract.acceptance import read_acceptance

    if typed is None:
        if require:
            complain("--require is about the checks of --accept: add one, as in --accept 'file: out.md'.")
            raise typer.Exit(BAD_USAGE)
        return None
    read = read_acceptance(typed)
    if isinstance(read, Err):
        complain(f"--accept cannot be kept: {read.err_value}.")
        raise typer.Exit(BAD_USAGE)
    return {"checks": typed, "require": require}


def typed_word(option: str, typed: str | None, words: tuple[Any, ...]) -> Any:  # noqa: ANN401  one of the words
    """Return the word that was typed; leave with 2 for another one."""
    if typed is None or typed in words:
        return typed
    complain(f"{option} is '{typed}'; allowed: {', '.join(words)}.")
    raise typer.Exit(BAD_USAGE)


def call(
    tool: Annotated[str, typer.Argument(help="Name of the tool; `ohm tools` lists them.")],
    arguments: Annotated[str, typer.Argument(help="Arguments of the tool, as a JSON object; - for standard input.")],
    *,
    server: Server = None,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Call a tool as a parent agent would."""
    from ohm_subagents.cli.call import call
    from ohm_subagents.cli.run import Typed

    typed = Typed.served(server, cwd, config, as_json=as_json)
    finish(partial(call, tool, typed_text(arguments), typed))
