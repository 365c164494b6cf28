"""`python tests/code_search/measure.py`: ask `code_search` about real projects, and print how often it is right.

pip downloads the source distributions of `questions.json`, unless `--projects` names a directory that holds them
unpacked. A question is answered at a rank when the place there is one of its answers, by path and symbol. No test and
no CI job runs it, for it needs a package index.
"""

import argparse
import ast
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import anyio

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))

from code_questions import SHOWN, Asked, asked, hits  # noqa: E402  after the path above

QUESTIONS = json.loads((HERE / "questions.json").read_text())


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
        root = root_of(question, folder)
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


def root_of(question: dict[str, object], folder: Path) -> Path:
    return folder / f"{question['project']}-{QUESTIONS['projects'][question['project']]}"


async def measured(folder: Path) -> list[Asked]:
    return [
        await asked(root_of(question, folder), question["ask"], question["answers"])
        for question in QUESTIONS["questions"]
    ]


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
        answered = anyio.run(measured, folder)
    for question, each in zip(QUESTIONS["questions"], answered, strict=True):
        sys.stdout.write(f"{each.rank or '-'}  {question['project']}: {each.ask}\n")
        if arguments.misses and each.rank != 1:
            sys.stdout.writelines(f"       {place}\n" for place in each.places)
    for limit in (1, SHOWN):
        sys.stdout.write(f"hit@{limit}: {hits(answered, limit)} of {len(answered)}\n")


if __name__ == "__main__":
    main()
