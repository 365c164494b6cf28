"""The real command-line agents, installed from npm into a cache of this checkout."""

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from cached_folder import filled
from not_installed import not_installed

CACHE = Path(__file__).parents[2] / ".cache" / "mcp-clients"
PATIENCE_S = 300
CLAUDE, CODEX = ("@anthropic-ai/claude-code", "2.1.197", "claude"), ("@openai/codex", "0.169.0", "codex")
OPENCODE, GEMINI = ("opencode-ai", "1.18.33", "opencode"), ("@google/gemini-cli", "0.61.0", "gemini")
QWEN = ("@qwen-code/qwen-code", "0.15.10", "qwen")


def installed(package, version, program):
    """The path of a program, from the cache or from npm."""
    found = modules(package, version, program) / ".bin" / program
    if not found.exists():
        not_installed(f"{package} {version} could not be installed")
    return f"{found}"


def modules(package, version, name):
    """The folder of a package and what it needs, from the cache or from npm; `name` is that of the cached copy."""

    def install(folder):
        command = [npm, "install", "--prefix", ".", "--no-audit", "--no-fund", f"{package}@{version}"]
        subprocess.run(command, cwd=folder, capture_output=True, timeout=PATIENCE_S, check=True)

    place = CACHE / f"{name}-{version}"
    npm = shutil.which("npm")
    if npm is not None:
        with suppress(subprocess.CalledProcessError):
            filled(place, install)
    return place / "node_modules"
