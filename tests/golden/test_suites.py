"""The documented behaviour of the tool suites, case by case, through the seams of the library.

`OHM_GOLDEN_SUITES` names another file of the same format, `OHM_GOLDEN_SUITE` one suite of it.
"""

import os

import pytest
from golden_calls import check
from golden_suites import chosen, suite_file

pytestmark = pytest.mark.anyio


@pytest.mark.sample(1 if {"OHM_GOLDEN_SUITES", "OHM_GOLDEN_SUITE"} & {*os.environ} else 2)
@pytest.mark.parametrize("case", chosen(suite_file()), ids=lambda case: f"{case.suite}/{case.id}")
async def test_case(case, tmp_path):
    await check(case, tmp_path)
