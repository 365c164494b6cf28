"""The generated tables of the README. `python tests/docs/tables.py` writes them."""

import inspect
import re
from pathlib import Path

from ohm_subagents import ErrorCode
from ohm_subagents._config.tables import config_table, env_table
from ohm_subagents._orchestrator.log import log_table
from ohm_subagents._plugins.hookspecs import Hooks

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


TABLES = {"config": config_table, "env": env_table, "errors": error_table, "hooks": hook_table, "log": log_table}


def with_tables(text):
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]().strip()}\n{found[3]}", text)


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
