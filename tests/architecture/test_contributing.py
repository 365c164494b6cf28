"""The page for contributors names what there is."""

import re
from pathlib import Path

MODULE = re.compile(r"`([\w/]+\.py)`")


def test_every_module_that_says_where_something_is_decided_exists(root: Path) -> None:
    page = (root / "docs/contributing.md").read_text(encoding="utf-8")
    table = page.partition("### Where is it decided")[2].partition("\n#")[0]
    named = MODULE.findall(table)

    assert named
    assert [name for name in named if not (root / "src/ohm_subagents" / name).is_file()] == []


def test_every_package_has_its_row(root: Path) -> None:
    page = (root / "docs/contributing.md").read_text(encoding="utf-8")
    table = page.partition("| package | what lives there |")[2].partition("\n\n")[0]
    rows = {re.sub(r"`", "", row.split("|")[1]).strip() for row in table.splitlines()[2:]}
    packages = {path.parent.name for path in (root / "src/ohm_subagents").glob("*/__init__.py")}

    assert packages - rows == set()
