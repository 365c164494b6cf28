"""`python tests/code_search/measure.py`: ask `code_search` about real projects, and print how often it is right.

pip downloads the source distributions of `questions.json`, unless `--projects` names a directory that holds them
unpacked. A question is answered at a rank when the place there is one of its answers, by path and symbol. No test and
no CI job runs it, for it needs a package index.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import anyio
import pydantic_ai
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from ohm_subagents._backends.in_process.tools import child_toolset, child_workspace

QUESTIONS = json.loads((Path(__file__).parent / "questions.json").read_text())
SHOWN = 3
_PLACE = re.compile(r"^\d+\. (?P<path>.+?):\d+-\d+  (?P<kind>\S+) ?(?P<symbol>\S*)", re.MULTILINE)

pydantic_ai.BANNER_ENABLED = False


@dataclass(frozen=True)
class Asked:
    """A question, the places that answer it and those that were shown."""

    project: str
    ask: str
    answers: tuple[str, ...]
    places: tuple[str, ...]

    @property
    def rank(self) -> int | None:
        """Where the first right place is, counted from 1."""
        return next((rank for rank, place in enumerate(self.places, start=1) if place in self.answers), None)


def downloaded(folder: Path) -> None:
    wanted = QUESTIONS["projects"]
    pinned = [f"{name}=={version}" for name, version in wanted.items()]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ",".join(wanted)]
    subprocess.run([*pip, "--dest", folder, *pinned], check=True)
    for archive in folder.glob("*.tar.gz"):
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")


def check_answers(folder: Path) -> None:
    """An answer that is not in the project would be counted as a miss for ever."""
    for question in QUESTIONS["questions"]:
        root = folder / f"{question['project']}-{QUESTIONS['projects'][question['project']]}"
        for answer in question["answers"]:
            path, symbol = answer.split(" ")
            assert symbol in symbols(ast.parse((root / path).read_text()), ""), f"{root / path} has no {symbol}"


def symbols(node: ast.AST, scope: str) -> set[str]:
    found = set()
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found |= {f"{scope}{name}"} | symbols(child, f"{scope}{name}.")
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(f"{scope}{name}")
            case _:
                found |= symbols(child, scope)
    return found


async def ask(root: Path, question: str) -> str:
    """What the tool tells a model that asks exactly this."""

    def respond(messages, _info):
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("code_search", {"query": question, "limit": SHOWN})])

    names = ("code_search",)
    agent = Agent(FunctionModel(respond), toolsets=[child_toolset(names)])
    result = await agent.run("go", workspace=child_workspace(root, names))
    (told,) = (part for each in result.all_messages() for part in each.parts if isinstance(part, ToolReturnPart))
    return told.model_response_str(wrap_if_error=False)


async def measured(folder: Path) -> list[Asked]:
    found = []
    for question in QUESTIONS["questions"]:
        project = question["project"]
        report = await ask(folder / f"{project}-{QUESTIONS['projects'][project]}", question["ask"])
        places = tuple(f"{place['path']} {place['symbol']}".strip() for place in _PLACE.finditer(report))
        found.append(Asked(project, question["ask"], tuple(question["answers"]), places))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python tests/code_search/measure.py", description=__doc__.splitlines()[0])
    parser.add_argument("--projects", type=Path, help="a directory with the unpacked source distributions")
    parser.add_argument("--misses", action="store_true", help="print what was shown where the first place is wrong")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.projects or Path(temporary)
        if arguments.projects is None:
            downloaded(folder)
        check_answers(folder)
        asked = anyio.run(measured, folder)
    for each in asked:
        sys.stdout.write(f"{each.rank or '-'}  {each.project}: {each.ask}\n")
        if arguments.misses and each.rank != 1:
            sys.stdout.writelines(f"       {place}\n" for place in each.places)
    for limit in (1, SHOWN):
        hits = sum(1 for each in asked if each.rank and each.rank <= limit)
        sys.stdout.write(f"hit@{limit}: {hits} of {len(asked)}\n")


if __name__ == "__main__":
    main()
