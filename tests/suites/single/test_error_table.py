"""Every code of ours is one of 001."""

from ohm_subagents import ErrorCode
from ohm_subagents.suites.single.details import CODES, SubagentErrorCode, code_of


def test_every_code_is_mapped():
    assert set(CODES) == set(ErrorCode)
    assert set(CODES.values()) == set(SubagentErrorCode) - {SubagentErrorCode.SUBAGENT_OUTPUT_TRUNCATED}


def test_the_code_of_a_plugin_is_a_failure():
    assert code_of("moon_is_full") is SubagentErrorCode.SUBAGENT_FAILED
    assert code_of("task_backend_timeout") is SubagentErrorCode.SUBAGENT_TIMEOUT
