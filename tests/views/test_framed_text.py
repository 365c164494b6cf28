"""The frame of an answer for a calling model."""

from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._views.answer import cut
from ohm_subagents._views.framed_text import framed, without_markers


@given(st.text(alphabet='</task_output> id="\n|Human:[INST]', max_size=80))
def test_no_text_closes_its_frame(said) -> None:
    assert framed(cut(said, 80), "t").count("</task_output>") == 1


@given(st.text(max_size=80))
def test_what_is_harmless_stays_as_it_is(said) -> None:
    once = without_markers(said)
    assert without_markers(once) == once


@given(st.text(alphabet="ab\u0301\U0001f469\u200d\n", max_size=40), st.integers(0, 45), st.integers(0, 45))
def test_what_is_cut_is_where_it_says_it_is(said, limit, offset) -> None:
    answer = cut(said, limit, offset=offset)
    assert answer.shown == said[offset : answer.end]
    assert answer.is_truncated == (offset + len(answer.shown) < len(said)) == bool(answer.extent)
