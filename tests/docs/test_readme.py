"""The README is short and true: its commands are those that CI runs, and its blocks run like those of every page."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pages import ROOT, block, hermetic

README = ROOT / "README.md"


def test_the_readme_has_at_most_180_lines():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 180


LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
OUTSIDE = [
    README,
    ROOT / "CHANGELOG.md",
    ROOT / "tests" / "benchmarks" / "README.md",
    *ROOT.glob("plugins/*/README.md"),
]


def test_every_link_to_a_file_leads_to_one():
    """In those pages that the site does not hold; its own links are checked by its build."""
    links = [(page, link) for page in OUTSIDE for link in LINK.findall(page.read_text(encoding="utf-8"))]

    assert [(str(page), link) for page, link in links if not (page.parent / link).exists()] == []


@pytest.mark.slow
def test_the_first_command_prints_the_file_that_truncates_output():
    ohm_command = block(README, "command", "first-run").strip().rpartition("&& ")[2]
    arguments = ohm_command.removeprefix(".venv/bin/ohm ")

    done = subprocess.run(
        ["bash", "-c", f"{Path(sys.executable).parent}/ohm {arguments}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=hermetic(),
    )

    assert "src/ohm_subagents/contract/truncation.py" in done.stdout


def test_ci_runs_the_test_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    extraction = next(line for line in script.splitlines() if line.startswith("command="))

    done = subprocess.run(
        ["bash", "-c", f'{extraction}\nprintf %s "$command"'], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert done.stdout == block(README, "command", "test").strip()


def test_the_newest_release_of_the_changelog_is_the_version_of_the_project():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.search(r"^## (\S+)", changelog, re.MULTILINE)[1] == version
