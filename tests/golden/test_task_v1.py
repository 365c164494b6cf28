"""The recorded behaviour of the reference, played through the seams of ours.

`OHM_GOLDEN_TASK` names another file of the same format. `quirks.md` lists what ours replaces, and the test of each.
"""

import os
from pathlib import Path

import pytest
from golden_player import Player, play
from golden_quirks import is_of_sends, replacements, replacing_tags, skip_reason
from golden_recording import recording
from golden_sections import check, vectors
from golden_sends import SendPlayer

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]


@pytest.mark.sample(1 if "OHM_GOLDEN_TASK" in os.environ else 2)
@pytest.mark.parametrize("case", recording().cases, ids=lambda case: case["id"])
async def test_recorded_case(case):
    reason = skip_reason(case)
    if reason is not None:
        pytest.skip(reason)
    differences = await play(case, SendPlayer if is_of_sends(case) else Player)
    if differences:
        pytest.fail("\n".join(differences), pytrace=False)


@pytest.mark.parametrize("vector", [*vectors()], ids=lambda vector: vector.id)
async def test_recorded_vector(vector):
    await check(vector)


def test_every_replaced_case_is_listed_with_a_test_that_exists():
    replaced = [case["id"] for case in recording().cases if replacing_tags(case)]
    vectors_replaced = [one.id for one in vectors() if set(one.data.get("quirks", [])) - {"Q49"}]
    if recording().is_ours:
        assert set(replaced) | set(vectors_replaced) <= set(replacements())
    missing = {row.test for row in replacements().values() if not _exists(row.test)}
    assert not missing, "\n".join(sorted(missing))


def _exists(test: str) -> bool:
    path, _, name = test.partition("::")
    return (ROOT / path).is_file() and f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
