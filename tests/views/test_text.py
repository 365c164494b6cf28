from __future__ import annotations

from ohm_subagents._views.text import model_text, view_text
from ohm_subagents.contract import (
    Accepted,
    ErrorCode,
    OhmError,
    Refused,
    Rejected,
    Started,
    StartItem,
    TextDelta,
    ToolEnded,
    ToolStarted,
)

NOBODY = Refused(
    item=StartItem(profile="nobody", description="d", prompt="p"),
    error=OhmError(
        code=ErrorCode.UNKNOWN_SUBAGENT_TYPE,
        message="No subagent profile found for 'nobody'.",
        advice="Available: finder, oracle.",
    ),
)


def started(*items) -> Started:
    return Started(items=items, backend="test-backend")


def seen(reply, *, batch: bool = False, expanded: bool = False, output_max_chars: int = 8000) -> str:
    return view_text(reply, batch=batch, expanded=expanded, output_max_chars=output_max_chars)


def test_a_single_task_is_a_tree(succeeded) -> None:
    task = succeeded(
        "found\nabcdefghijk",
        ToolStarted(call_id="1", tool="read", args='{"path":"a.ts"}'),
        ToolEnded(call_id="1", tool="read", status="success", text="done"),
    )
    assert seen(started(Accepted(task=task)), output_max_chars=16) == (
        "  ✓ Finder · Auth scan\n"
        "    ├── Trace auth\n"
        '    ├── ○ read {"path":"a.ts"}\n'
        "    ├── ✓ read done\n"
        "    ╰── abcdefghij (truncated 16/17 chars)"
    )


def test_a_batch_keeps_its_order_and_counts_what_was_accepted(succeeded) -> None:
    reply = started(Accepted(task=succeeded("out")), NOBODY)
    assert seen(reply, batch=True) == (
        "  ✓ Finder · Auth scan\n"
        "    ├── Trace auth\n"
        "    ╰── out\n"
        "\n"
        "  ✕ Task task_batch_2\n"
        "    ├── Resolve task task_batch_2\n"
        "    ╰── No subagent profile found for 'nobody'.\n"
        "batch: accepted 1/2"
    )


def test_a_running_task_is_one_line_until_expanded(running) -> None:
    reply = started(Accepted(task=running()))
    assert seen(reply) == "⠋ Finder · Auth scan · background\ntask_id: task_1"
    assert seen(reply, expanded=True) == "  ⠋ Finder · Auth scan\n    ├── Trace auth\n    ╰── Working..."


def test_a_running_batch_is_one_line_a_task(running) -> None:
    reply = started(*[Accepted(task=running(task_id=f"task_{n}")) for n in (1, 2)])
    line = "⠋ Finder · Auth scan · background\n"
    assert seen(reply, batch=True) == line * 2 + "batch: accepted 2/2"


def test_a_refused_call_is_a_tree_of_its_error() -> None:
    error = OhmError(code=ErrorCode.SUBAGENTS_DISABLED, message="Enable features.subagents.", summary="Disabled")
    assert (
        seen(Rejected(error=error, backend="none"))
        == "  ✕ Disabled\n    ├── Disabled\n    ╰── Enable features.subagents."
    )


def read(reply, *, batch: bool = False, output_max_chars: int = 8000) -> str:
    return model_text(reply, batch=batch, output_max_chars=output_max_chars)


def test_the_model_reads_the_whole_answer_as_it_is(succeeded) -> None:
    answer = "def f():\n    return 1\n\n" + "long " * 200
    assert read(started(Accepted(task=succeeded(answer)))).endswith(f"\n\noutput (task_1):\n{answer}")


def test_the_model_reads_how_much_of_the_answer_was_cut(succeeded) -> None:
    text = read(started(Accepted(task=succeeded("abcdefghijk"))), output_max_chars=10)
    assert text.endswith("\n\noutput (task_1, truncated 10/11 chars):\nabcdefghij")


def test_the_model_reads_what_a_failed_task_had_said_and_what_to_do(failed) -> None:
    error = OhmError(code=ErrorCode.BACKEND_TIMEOUT, message="Timed out after 180s.", advice="Raise the limit.")
    text = read(started(Accepted(task=failed(error, said="So far: a.py"))))
    assert text.endswith(
        "\n\nerror (task_1): Timed out after 180s. Raise the limit.\n\npartial answer (task_1):\nSo far: a.py"
    )


def test_the_model_reads_every_item_of_a_batch(succeeded) -> None:
    text = read(started(Accepted(task=succeeded("one")), NOBODY), batch=True)
    assert "\n\noutput (task_1):\none\n\n" in text
    assert text.endswith("error (nobody): No subagent profile found for 'nobody'. Available: finder, oracle.")


def test_the_model_reads_the_advice_of_a_refused_call() -> None:
    text = read(Rejected(error=NOBODY.error, backend="none"))
    assert text.endswith("\n\nerror: No subagent profile found for 'nobody'. Available: finder, oracle.")


def test_the_model_is_not_told_half_an_answer_while_the_task_runs(running) -> None:
    reply = started(Accepted(task=running(TextDelta(text="half"))))
    assert read(reply) == seen(reply)
