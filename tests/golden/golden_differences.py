"""The differences between a recorded value and ours, in few words."""

from typing import Any

import pytest


def same(recorded: Any, ours: Any) -> None:
    """Fail with what differs."""
    if recorded != ours:
        pytest.fail(difference(recorded, ours), pytrace=False)


def difference(recorded: Any, ours: Any) -> str:
    """Only what differs, key by key, where both sides are alike in shape."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        keys = [
            key for key in {**recorded, **ours} if key not in recorded or key not in ours or recorded[key] != ours[key]
        ]
        return "\n".join(
            f"  {key}: recorded {recorded.get(key, '(absent)')!r}, ours {ours.get(key, '(absent)')!r}" for key in keys
        )
    if isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
        return "\n".join(
            f"  [{index}]\n{difference(*pair)}"
            for index, pair in enumerate(zip(recorded, ours, strict=True))
            if pair[0] != pair[1]
        )
    counts = ""
    if isinstance(recorded, list) and isinstance(ours, list):
        counts = f"  {len(recorded)} recorded, {len(ours)} of ours\n"
    return f"{counts}  recorded {recorded!r}\n  ours     {ours!r}"
