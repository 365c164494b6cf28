"""The words for the files of a task, in their order."""

from typing import get_args

import pytest

from ohm_subagents.contract.workspace import ISOLATIONS, Isolation, strictest_isolation


def test_each_isolation_has_a_place_in_the_order():
    assert sorted(ISOLATIONS) == sorted(get_args(Isolation))


@pytest.mark.parametrize(
    ("said", "strictest"),
    [((), "none"), ((None, None), "none"), (("none", None), "none"), (("none", "clone", None), "clone")],
)
def test_the_strictest_isolation_that_is_said_counts(said, strictest):
    assert strictest_isolation(*said) == strictest
