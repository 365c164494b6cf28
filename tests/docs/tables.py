"""The generated tables of the README. `python tests/docs/tables.py` writes them."""

import ast
import inspect
import re
import textwrap
from itertools import pairwise
from pathlib import Path

from ohm_subagents import ErrorCode
from ohm_subagents._config.tables import config_table, env_table
from ohm_subagents._orchestrator.log import log_table
from ohm_subagents._plugins.hookspecs import Hooks
from ohm_subagents._plugins.interfaces import Capability

README = Path(__file__).parents[2] / "README.md"
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def error_table():
    rows = (f"| `{code}` | {code.category} | {code.when} |" for code in sorted(ErrorCode))
    return "\n".join(["| code | category | when |", "| --- | --- | --- |", *rows])


def hook_table():
    hooks = ((name, hook) for name, hook in vars(Hooks).items() if name.startswith("ohm_"))
    rows = (
        f"| `{name}({', '.join(list(inspect.signature(hook).parameters)[1:])})` | {hook.__doc__.splitlines()[0]} |"
        for name, hook in hooks
    )
    return "\n".join(["| hook | what it does |", "| --- | --- |", *rows])


def capability_table():
    """Each with the text below it in the source, which is where its author reads it."""
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(Capability))).body
    told = {
        named.targets[0].id: " ".join(text.value.value.split())
        for named, text in pairwise(declared.body)
        if isinstance(named, ast.Assign) and isinstance(text, ast.Expr)
    }
    assert [*told] == [one.name for one in Capability], "every capability has a text"
    return "\n".join(["| capability | a backend that declares it |", "| --- | --- |", *map(_row, told.items())])


def _row(named):
    name, text = named
    return f"| `{name}` | {text} |"


TABLES = {
    "capabilities": capability_table,
    "config": config_table,
    "env": env_table,
    "errors": error_table,
    "hooks": hook_table,
    "log": log_table,
}


def with_tables(text):
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]().strip()}\n{found[3]}", text)


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
