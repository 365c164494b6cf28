"""The release of an installed agent, by the npm package of its command: most agents do not say it as they run."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Final

from ohm_backend_cli.shapes import object_of

MODULES: Final = "node_modules"


def installed_release(program: str) -> str:
    """Return the version of the package that a program is in; empty for one that npm has not installed."""
    file = Path(program).resolve()
    packages = (folder / "package.json" for folder in file.parents if MODULES in folder.parts)
    found = next((package for package in packages if os.path.isfile(package)), None)
    return "" if found is None else _version(found, found.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _version(file: Path, _changed_ns: int) -> str:
    try:
        version = object_of(json.loads(file.read_text(encoding="utf-8"))).get("version")
    except (OSError, ValueError):
        return ""
    return version if isinstance(version, str) else ""
