"""The page for contributors, and the packages themselves, name what there is."""

import ast
import re
from functools import cache
from pathlib import Path

PLACE = re.compile(r"`([\w/]+\.py)(?::([\w.]+))?`")
IN_PACKAGE = re.compile(r"`([a-z_]+)\.(\w+(?:\.\w+)?)`")


def test_every_place_that_the_page_names_exists(root: Path) -> None:
    named = PLACE.findall((root / "docs/contributing.md").read_text(encoding="utf-8"))
    folders = root / "src/ohm_subagents", root

    assert named
    assert [place for place in named if not any(is_there(one / place[0], place[1]) for one in folders)] == []


def test_every_row_has_as_many_cells_as_the_head_of_its_table(root: Path) -> None:
    page = (root / "docs/contributing.md").read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)

    assert tables
    rows = [(table.partition("\n")[0], row) for table in tables for row in table.splitlines()]
    assert [row for head, row in rows if row.count("|") != head.count("|")] == []


def test_every_place_that_a_package_names_exists(root: Path) -> None:
    wrong: list[tuple[str, str]] = []
    for package in (root / "src/ohm_subagents").rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
        for module, name in IN_PACKAGE.findall(said):
            if module != "ohm_subagents" and not is_there(package.with_name(f"{module}.py"), name):
                wrong.append((f"{package.relative_to(root)}", f"{module}.{name}"))

    assert wrong == []


def test_every_package_has_its_row(root: Path) -> None:
    page = (root / "docs/contributing.md").read_text(encoding="utf-8")
    table = page.partition("| package | what lives there |")[2].partition("\n\n")[0]
    rows = {re.sub(r"`", "", row.split("|")[1]).strip() for row in table.splitlines()[2:]}
    packages = {path.parent.name for path in (root / "src/ohm_subagents").glob("*/__init__.py")}

    assert packages - rows == set()


def test_every_folder_of_tests_has_its_row(root: Path) -> None:
    page = (root / "docs/contributing.md").read_text(encoding="utf-8")
    table = page.partition("### Where it is tested")[2].partition("\n#")[0]
    inside = [path for path in (root / "tests").glob("*/*") if "__pycache__" not in path.parts]
    folders = {path.parent.name for path in inside}

    assert folders - set(re.findall(r"`(\w+)`", table)) == set()


def is_there(module: Path, name: str) -> bool:
    """Look for a function, class, method or constant; an empty name is the module itself."""
    return module.is_file() and (not name or name in defined(module))


@cache
def defined(module: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                own = (one.name for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
                names |= {name, *(f"{name}.{each}" for each in own)}
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case _:
                pass
    return frozenset(names)
