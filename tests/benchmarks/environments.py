"""A virtual environment for each framework: their pins contradict each other and ours."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

SUBJECTS = Path(__file__).parent / "subjects"
PEERS = {
    "openai-agents": "openai_agents.py",
    "deepagents": "deepagents_peer.py",
    "strands-agents": "strands_peer.py",
}
"""Each with the file that measures it."""


def made_for(peers: Mapping[str, str | Path], folder: Path, *also: str) -> tuple[dict[str, str], dict[str, str]]:
    """The Python of each peer that installs, and why the others do not; what its file needs is written in its head.

    `also` are further arguments of `uv pip install`.
    """
    pythons, problems = {}, {}
    uv = shutil.which("uv", path=Path(sys.executable).parent) or shutil.which("uv")
    if uv is None:
        return {}, dict.fromkeys(peers, "uv is not installed")
    for peer, file in peers.items():
        python = folder / peer / "bin" / "python"
        steps = (
            [uv, "venv", "--quiet", "--python", sys.executable, folder / peer],
            [uv, "pip", "install", "--quiet", "--python", python, "--requirements", SUBJECTS / file, *also],
        )
        try:
            for step in steps:
                subprocess.run(step, check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as exc:
            problems[peer] = f"does not install: {(exc.stderr.strip().splitlines() or ['no reason given'])[-1]}"
        else:
            pythons[peer] = str(python)
    return pythons, problems


def versions(pythons: dict[str, str]) -> dict[str, str]:
    """Return what was installed, by distribution."""
    code = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    return {
        name: subprocess.run([python, "-c", code, name], check=True, capture_output=True, text=True).stdout.strip()
        for name, python in pythons.items()
    }
