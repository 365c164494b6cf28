"""List the tests that show that ours has no quirk of the reference. Of recorded cases: golden/quirks.md."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAYLOADS, SEND, CANCEL = "tools/test_task_payloads.py", "orchestrator/test_send.py", "orchestrator/test_cancel.py"
SHOWN_BY = {
    "Q01": (PAYLOADS, "test_a_coercion_that_loses_meaning_is_an_error"),
    "Q02": (PAYLOADS, "test_a_coercion_that_loses_meaning_is_an_error"),
    "Q03": (PAYLOADS, "test_empty_ids_do_not_hide_an_id"),
    "Q04": (PAYLOADS, "test_an_id_that_is_no_text_is_refused_by_name"),
    "Q05": (PAYLOADS, "test_ids_are_trimmed_by_every_op"),
    "Q06": (PAYLOADS, "test_a_padded_op_is_told_as_the_op_that_it_is"),
    "Q07": (PAYLOADS, "test_unknown_keys_are_ignored_and_named"),
    "Q11": (CANCEL, "test_a_queued_item_that_is_cancelled_is_cancelled_in_the_batch_too"),
    "Q12": (SEND, "test_a_follow_up_to_a_queued_item_becomes_its_second_run"),
    "Q13": ("orchestrator/test_start.py", "test_a_crashing_backend_fails_its_own_task_and_keeps_its_siblings"),
    "Q14": (SEND, "test_an_aborted_follow_up_stops_its_own_run_only"),
    "Q15": (SEND, "test_a_failing_follow_up_keeps_the_first_answer"),
    "Q16": (SEND, "test_a_follow_up_is_the_next_run_and_is_in_the_history_once"),
    "Q17": (PAYLOADS, "test_a_blank_follow_up_is_refused_and_reaches_nobody"),
    "Q18": (PAYLOADS, "test_a_blank_text_is_refused_by_name_and_consumes_no_id"),
    "Q21": (SEND, "test_an_error_without_a_message_fails_its_task_like_any_other"),
    "Q22": ("store/test_retention.py", "test_the_retention_is_configured"),
    "Q45": (SEND, "test_a_cancel_reaches_a_follow_up_in_flight"),
    "Q46": (CANCEL, "test_a_late_event_does_not_change_a_settled_task"),
    "Q51": ("orchestrator/test_batch.py", "test_the_batch_status_tells_what_became_of_the_items"),
    "Q53": ("orchestrator/test_wait.py", "test_a_wait_is_woken_by_what_it_waits_for_and_by_nothing_else"),
    "Q62": ("app/test_error_codes.py", "test_a_caller_gets_the_code_with_its_category"),
}


@pytest.mark.parametrize("quirk", SHOWN_BY)
def test_the_quirk_has_its_test(quirk):
    file, name = SHOWN_BY[quirk]
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert name in functions
