"""The suites that ship need no privilege: copied into another distribution, they pass their recorded cases.

There every private module of ours is unimportable, and the suites that ship are not installed.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOM = ROOT / "src" / "ohm_subagents" / "suites"
SUITES = sorted(one.name for one in ROOM.iterdir() if (one / "__init__.py").is_file())
CASES = ("-m", "slow or not slow", "tests/golden/test_suites.py", "tests/golden/test_suites_further.py")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Install the copy, and ohm-subagents without its suites, in a directory for PYTHONPATH."""
    target = tmp_path_factory.mktemp("site")
    copy = shutil.copytree(ROOM, target / "ohm_outside_suites", ignore=shutil.ignore_patterns("__pycache__"))
    for file in copy.rglob("*.py"):
        file.write_text(file.read_text(encoding="utf-8").replace("ohm_subagents.suites", copy.name), encoding="utf-8")
    ours = distribution("ohm-subagents")
    plugins = [one for one in ours.entry_points if one.group == "ohm_subagents"]
    moved = {one.name: one.value.replace("ohm_subagents.suites", copy.name) for one in plugins}
    theirs = {f"outside-{name}": moved[name] for name in SUITES}
    install(target, "Metadata-Version: 2.1\nName: ohm-outside-suites\nVersion: 1.0\n", theirs)
    kept = {one.name: one.value for one in plugins if not one.value.startswith("ohm_subagents.suites")}
    install(target, ours.read_text("METADATA") or "", kept)
    return target


def install(target: Path, metadata: str, points: dict[str, str]) -> None:
    """Install a distribution with these entry points, as far as those who look for it see."""
    name, version = (re.search(rf"^{key}: (.*)$", metadata, re.MULTILINE)[1] for key in ("Name", "Version"))
    info = target / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[ohm_subagents]", *lines]))


def played(site: Path, *tests: str) -> tuple[dict[str, int], str]:
    """Run tests with the copy in place of the suites: how many passed, failed and so on, and the report."""
    env = {**os.environ, "PYTHONPATH": f"{site}:{ROOT / 'tests' / 'support'}"}
    env["OHM_TEST_PLUGINS"] = ",".join(f"outside-{name}" for name in SUITES)
    command = [sys.executable, "-m", "pytest", "-q", "-ra", "-n", "0", "-p", "outside_suites", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *tests], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    counts = re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout.strip().splitlines()[-1])
    return {word: int(count) for count, word in counts}, done.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_suites_pass_their_recorded_cases_as_plugins_of_others(site) -> None:
    collecting = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--collect-only", *CASES]
    inside = subprocess.run(collecting, cwd=ROOT, capture_output=True, text=True, check=True)
    counts, report = played(site, *CASES)

    assert counts.keys() <= {"passed", "skipped"}, report
    assert counts.get("skipped", 0) == report.count("golden core: skipped "), "none but the cases that have no tool"
    assert re.search(rf"^{sum(counts.values())} tests collected", inside.stdout, re.MULTILINE), report
    assert f"played by ohm_outside_suites: {' '.join(SUITES)}" in report
