"""The generated tables and examples of the documentation. `python tests/docs/tables.py` writes them."""

import ast
import dataclasses
import inspect
import json
import re
import textwrap
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import get_args

from ohm_subagents import ErrorCode
from ohm_subagents._config.tables import config_table, env_table
from ohm_subagents._orchestrator.observe.log import LINES
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents._plugins.hooks.specs import HOOKS_BY_NAME
from ohm_subagents.contract import LifecycleEvent, RunEvent

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MARKED = re.compile(r"(<!-- table: ([\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def error_table():
    return table(("code", "category", "when"), ((f"`{code}`", code.category, code.when) for code in sorted(ErrorCode)))


def hook_table():
    rows = (
        (f"`{name}({', '.join(list(inspect.signature(hook).parameters)[1:])})`", hook.__doc__.splitlines()[0])
        for name, hook in HOOKS_BY_NAME.items()
    )
    return table(("hook", "what it does"), rows)


def capability_table():
    """Each with the text below it in the source, which is where its author reads it."""
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(Capability))).body
    texts = documented(declared)
    assert [*texts] == [one.name for one in Capability], "every capability has a text"
    return table(("capability", "a backend that declares it"), ((f"`{name}`", text) for name, text in texts.items()))


def event_table(union):
    rows = []
    for event in get_args(union):
        kind = event.__dataclass_fields__["kind"].default
        fields = ", ".join(f"`{one.name}`" for one in dataclasses.fields(event) if one.name != "kind")
        rows.append(
            (f"`{kind}`", f"`{event.__name__}`", fields, " ".join(inspect.getdoc(event).split("\n\n")[0].split()))
        )
    return table(("kind", "class", "fields", "meaning"), rows)


def documented(tree):
    """The names that have a text below them, and that text."""
    return {
        target(named): " ".join(text.value.value.split())
        for named, text in pairwise(tree.body)
        if isinstance(named, ast.Assign | ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def target(assignment):
    (name,) = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
    return name.id


def table(heads, rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def log_table():
    rows = ((f"`{line.name}`", line.when, ", ".join(f"`{name}`" for name in line.adds)) for line in LINES.values())
    return table(("line", "when", "adds"), rows)


def example(file):
    """An example as a block of a page; one that ends in no output needs a framework with an environment of its own."""
    program, _, tail = file.read_text(encoding="utf-8").partition("# Prints:\n")
    _, _, code = program.partition('"""\n\n')
    block = f"```python\n{code.strip()}\n```"
    if not tail:
        return f"<!-- not run: its framework has an environment of its own in the tests -->\n{block}"
    return f"{block}\n```text\n{tail.replace('# ', '').strip()}\n```"


def capacity_table():
    """The fleets of `tests/remote/test_capacity.py` beside the formulas."""
    recorded = json.loads((ROOT / "tests/remote/capacity.json").read_text())
    heads = {
        "tasks": "tasks",
        "runners": "runners",
        "submitters": "submitters",
        "hours": "hours",
        "lost runs": "runs lost with a runner",
        "runner_lost": "tasks failed by that",
        "attached": "runs attached to again",
        "budget_exceeded": "tasks over budget",
        "wait_p99_s": "wait, p99",
        "predicted_s": "by the formulas",
    }
    units = {"wait_p99_s": " s", "predicted_s": " s"}
    rows = ((name, *(f"{fleet[key]:,}{units.get(key, '')}" for key in heads)) for name, fleet in recorded.items())
    return table(("fleet", *heads.values()), rows)


TABLES = {
    "capabilities": capability_table,
    "capacity": capacity_table,
    "config": config_table,
    "env": env_table,
    "errors": error_table,
    "events-lifecycle": lambda: event_table(LifecycleEvent),
    "events-run": lambda: event_table(RunEvent),
    "hooks": hook_table,
    "log": log_table,
    **{f"example-{file.stem}": partial(example, file) for file in (ROOT / "examples/frameworks").glob("*.py")},
}


def with_tables(text):
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]().strip()}\n{found[3]}", text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
