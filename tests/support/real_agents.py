"""The real command-line agents, installed from npm into a cache of this checkout."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

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
    place = CACHE / f"{name}-{version}"
    npm = shutil.which("npm")
    if not place.is_dir() and npm is not None:
        fresh = CACHE / f".{name}-{version}-{os.getpid()}"
        fresh.mkdir(parents=True)
        command = [npm, "install", "--prefix", ".", "--no-audit", "--no-fund", f"{package}@{version}"]
        done = subprocess.run(command, cwd=fresh, capture_output=True, timeout=PATIENCE_S, check=False)
        if done.returncode == 0 and not place.is_dir():
            with suppress(OSError):  # another worker was quicker
                fresh.rename(place)
        shutil.rmtree(fresh, ignore_errors=True)
    return place / "node_modules"
