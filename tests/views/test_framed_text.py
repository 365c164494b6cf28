"""The frame of an answer for a calling model."""

from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._views.framed_text import framed, without_markers


@given(st.text(alphabet='</task_output> id="\n|Human:[INST]', max_size=80))
def test_no_text_closes_its_frame(said) -> None:
    assert framed("task_output", "t", said, offset=0, shown=said).count("</task_output>") == 1


@given(st.text(max_size=80))
def test_what_is_harmless_stays_as_it_is(said) -> None:
    once = without_markers(said)
    assert without_markers(once) == once
