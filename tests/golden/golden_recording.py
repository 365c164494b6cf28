"""The recorded file: which one, and what is in it. Its own `about` explains the format."""

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Json = dict[str, Any]
HERE = Path(__file__).parent
DEFAULT = HERE / "task-v1.json"


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One file of recorded behaviour."""

    path: Path
    base_config: Json
    catalog: list[Json]
    cwd: str
    cases: list[Json]
    sections: Json

    @property
    def is_ours(self) -> bool:
        """Return True if it is the file that quirks.md was written for."""
        return self.path.read_bytes() == DEFAULT.read_bytes()


@cache
def recording() -> Recording:
    """The file that OHM_GOLDEN_TASK names, else the copy beside this module."""
    path = Path(os.environ.get("OHM_GOLDEN_TASK") or DEFAULT)
    content = json.loads(path.read_text(encoding="utf-8"))
    return Recording(
        path=path,
        base_config=content["base_config"],
        catalog=content["vector_catalog"],
        cwd=content["cwd"],
        cases=content["cases"],
        sections=content.get("sections", {}),
    )


def deep_merged(base: Any, patch: Any) -> Any:
    """`patch` over `base`: objects key by key, everything else replaced."""
    if not (isinstance(base, dict) and isinstance(patch, dict)):
        return patch
    return {**base, **{key: deep_merged(base.get(key), value) for key, value in patch.items()}}
