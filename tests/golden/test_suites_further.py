"""Further cases of the tool suites, by the same rules and played in the same way as those of `suites.json`."""

import pytest
from golden_calls import check
from golden_suites import DEFAULT, FURTHER, cases

pytestmark = pytest.mark.anyio


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", cases(FURTHER), ids=lambda case: case.id)
async def test_further_case(case, tmp_path):
    await check(case, tmp_path)


def test_no_case_is_there_twice():
    ids = [case.id for file in (DEFAULT, FURTHER) for case in cases(file)]
    assert len(ids) == len(set(ids))
