"""Every page does what it says: a reader who follows it finds what it shows."""

import re

import pytest
import tables
from pages import PAGES, ROOT, Reader, blocks


@pytest.mark.sample(2)
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says(page, tmp_path):
    reader = Reader(tmp_path)
    for block in blocks(page):
        reader.follow(block)


def test_the_generated_tables_are_up_to_date():
    texts = {page: page.read_text(encoding="utf-8") for page in tables.PAGES}
    stale = [str(page.relative_to(ROOT)) for page, text in texts.items() if tables.with_tables(text) != text]

    assert stale == [], "run: python tests/docs/tables.py"


def test_every_generated_table_is_on_one_page():
    found = [name for page in tables.PAGES for _, name, _ in tables.MARKED.findall(page.read_text(encoding="utf-8"))]

    assert sorted(found) == sorted(tables.TABLES)


def test_every_door_has_a_page_of_the_reference():
    packages = {"acp", "adapters", "ohm", "contract", "mcp", "redaction", "remote", "sandbox", "shell", "testing"}
    doors = packages | {"workspaces"} | {path.stem for path in (ROOT / "src" / "ohm_subagents").glob("[a-z]*.py")}

    assert {page.stem for page in (ROOT / "docs" / "reference" / "api").glob("*.md")} == doors


def test_every_package_is_a_room_of_the_page_for_contributors():
    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    packages = {file.parent.name for file in (ROOT / "src" / "ohm_subagents").glob("*/__init__.py")}

    assert {name for name in packages if not re.search(rf"^\| .*`{name}`", page, re.MULTILINE)} == set()
