"""The documented behaviour of the tool suites, case by case, through the seams of the library.

`OHM_GOLDEN_SUITES` names another file of the same format, `OHM_GOLDEN_SUITE` one suite of it. `suites-more.json` has
further cases by the same rules; they are played when no other file is named.
"""

import os

import pytest
from golden_calls import play
from golden_suites import MORE, cases, suite_file
from golden_time import standing

pytestmark = pytest.mark.anyio
FURTHER = [] if os.environ.get("OHM_GOLDEN_SUITES") else cases(MORE)


@pytest.fixture
def anyio_backend():
    return "trio", {"clock": standing()}


def _name(case):
    return f"{case.suite}/{case.id}"


@pytest.mark.parametrize("case", cases(suite_file()), ids=_name)
async def test_case(case, tmp_path):
    await _check(case, tmp_path)


@pytest.mark.parametrize("case", FURTHER, ids=_name)
async def test_further_case(case, tmp_path):
    await _check(case, tmp_path)


async def _check(case, folder):
    if case.why_skipped:
        pytest.skip(case.why_skipped)
    differences = await play(case, folder)
    if differences:
        pytest.fail("\n".join(differences), pytrace=False)
