"""The door for text that people see: terminal cells, themes, messages, and what every view shows of a task.

Text from outside goes through `printable` or `wrapped`, so that it can neither drive the terminal nor break a line.
"""

from typing import TYPE_CHECKING

from ohm_subagents._lazy import lazy_names
from ohm_subagents._views.projection import project_task as task_envelope

if TYPE_CHECKING:
    from ohm_subagents._views.account import (
        account_now,
        price_text,
        remaining_text,
        total_line,
        total_price_text,
        unpriced_text,
        used_text,
    )
    from ohm_subagents._views.answer import assistant_text, said_last
    from ohm_subagents._views.brief_rows import brief_lines
    from ohm_subagents._views.call_line import call_line
    from ohm_subagents._views.call_waits import CallWait, call_waits
    from ohm_subagents._views.cells import cells, fit, one_line, preview_lines, printable, printable_json, wrap, wrapped
    from ohm_subagents._views.changes import changes_text
    from ohm_subagents._views.cost_report import (
        COST_KEYS,
        CostKey,
        CostRow,
        cost_csv,
        cost_records,
        cost_rows,
        cost_table,
    )
    from ohm_subagents._views.doing import doing_text
    from ohm_subagents._views.fleet_row import FLEET_SORTS, FleetRow, FleetSort, fleet_order
    from ohm_subagents._views.fleet_table import fleet_lines, fleet_sums
    from ohm_subagents._views.hearing import Hearing, Unheard, unheard
    from ohm_subagents._views.listing import launch_fact_lines, list_counts, task_fact_lines, task_list_lines
    from ohm_subagents._views.live_task import Awaited, LiveTask, awaited_tasks, patient_tasks
    from ohm_subagents._views.live_tree import task_block
    from ohm_subagents._views.messages import Message, MessageLog, arguments_in, calls_of, messages_of, text_of
    from ohm_subagents._views.model_text import task_text
    from ohm_subagents._views.quantities import age_text, clock_text, cost_text, duration_text, instant_text
    from ohm_subagents._views.request_texts import answer_text, landing_text, request_text
    from ohm_subagents._views.screen import screen_lines
    from ohm_subagents._views.status import status_line, task_line
    from ohm_subagents._views.task_texts import (
        Wording,
        activity,
        elapsed_ms,
        failure_line,
        shown_error,
        task_title,
        tool_row,
        tool_rows,
    )
    from ohm_subagents._views.theme import PLAIN, Theme, View
    from ohm_subagents._views.todo_count import TODO_TOOLS, TodoCount, todos_in
    from ohm_subagents._views.tool_calls import FileChange, NamedCall, argument_lines, changed_lines, named_call
    from ohm_subagents._views.transcript import Transcript, transcript_lines
    from ohm_subagents._views.tree import status_marker
    from ohm_subagents._views.tree_order import in_tree
    from ohm_subagents._views.verification import check_text, verified_line
    from ohm_subagents._views.waits import asked_text, asked_times, awaited_text, held_text, queued_text, request_words
    from ohm_subagents._views.work_facts import (
        CONCERNS,
        STUCK_RULE,
        Concern,
        concern_of,
        progress_at_ms,
        quiet_ms,
        state_text,
    )

__all__ = [
    "CONCERNS",
    "COST_KEYS",
    "FLEET_SORTS",
    "PLAIN",
    "STUCK_RULE",
    "TODO_TOOLS",
    "Awaited",
    "CallWait",
    "Concern",
    "CostKey",
    "CostRow",
    "FileChange",
    "FleetRow",
    "FleetSort",
    "Hearing",
    "LiveTask",
    "Message",
    "MessageLog",
    "NamedCall",
    "Theme",
    "TodoCount",
    "Transcript",
    "Unheard",
    "View",
    "Wording",
    "account_now",
    "activity",
    "age_text",
    "answer_text",
    "argument_lines",
    "arguments_in",
    "asked_text",
    "asked_times",
    "assistant_text",
    "awaited_tasks",
    "awaited_text",
    "brief_lines",
    "call_line",
    "call_waits",
    "calls_of",
    "cells",
    "changed_lines",
    "changes_text",
    "check_text",
    "clock_text",
    "concern_of",
    "cost_csv",
    "cost_records",
    "cost_rows",
    "cost_table",
    "cost_text",
    "doing_text",
    "duration_text",
    "elapsed_ms",
    "failure_line",
    "fit",
    "fleet_lines",
    "fleet_order",
    "fleet_sums",
    "held_text",
    "in_tree",
    "instant_text",
    "landing_text",
    "launch_fact_lines",
    "list_counts",
    "messages_of",
    "named_call",
    "one_line",
    "patient_tasks",
    "preview_lines",
    "price_text",
    "printable",
    "printable_json",
    "progress_at_ms",
    "queued_text",
    "quiet_ms",
    "remaining_text",
    "request_text",
    "request_words",
    "said_last",
    "screen_lines",
    "shown_error",
    "state_text",
    "status_line",
    "status_marker",
    "task_block",
    "task_envelope",
    "task_fact_lines",
    "task_line",
    "task_list_lines",
    "task_text",
    "task_title",
    "text_of",
    "todos_in",
    "tool_row",
    "tool_rows",
    "total_line",
    "total_price_text",
    "transcript_lines",
    "unheard",
    "unpriced_text",
    "used_text",
    "verified_line",
    "wrap",
    "wrapped",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_views.account": "account_now price_text remaining_text total_line total_price_text unpriced_text used_text",
        "_views.answer": "assistant_text said_last",
        "_views.call_line": "call_line",
        "_views.call_waits": "CallWait call_waits",
        "_views.changes": "changes_text",
        "_views.cells": "cells fit one_line preview_lines printable printable_json wrap wrapped",
        "_views.cost_report": "COST_KEYS CostKey CostRow cost_csv cost_records cost_rows cost_table",
        "_views.doing": "doing_text",
        "_views.fleet_row": "FLEET_SORTS FleetRow FleetSort fleet_order",
        "_views.fleet_table": "fleet_lines fleet_sums",
        "_views.hearing": "Hearing Unheard unheard",
        "_views.listing": "launch_fact_lines list_counts task_fact_lines task_list_lines",
        "_views.live_task": "Awaited LiveTask awaited_tasks patient_tasks",
        "_views.brief_rows": "brief_lines",
        "_views.live_tree": "task_block",
        "_views.messages": "Message MessageLog arguments_in calls_of messages_of text_of",
        "_views.model_text": "task_text",
        "_views.quantities": "age_text clock_text cost_text duration_text instant_text",
        "_views.request_texts": "answer_text landing_text request_text",
        "_views.screen": "screen_lines",
        "_views.status": "status_line task_line",
        "_views.task_texts": "Wording activity elapsed_ms failure_line shown_error task_title tool_row tool_rows",
        "_views.theme": "PLAIN Theme View",
        "_views.todo_count": "TODO_TOOLS TodoCount todos_in",
        "_views.tool_calls": "FileChange NamedCall argument_lines changed_lines named_call",
        "_views.transcript": "Transcript transcript_lines",
        "_views.tree": "status_marker",
        "_views.tree_order": "in_tree",
        "_views.verification": "check_text verified_line",
        "_views.waits": "asked_text asked_times awaited_text held_text queued_text request_words",
        "_views.work_facts": "CONCERNS STUCK_RULE Concern concern_of progress_at_ms quiet_ms state_text",
    },
)
