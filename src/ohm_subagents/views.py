"""The door for text that people see: terminal cells, themes, messages, and what every view shows of a task.

Text from outside goes through `printable` or `wrapped`, so that it can neither drive the terminal nor break a line.
"""

from ohm_subagents._views.answer import assistant_text
from ohm_subagents._views.call_line import call_line
from ohm_subagents._views.cells import cells, fit, one_line, preview_lines, printable, printable_json, wrap, wrapped
from ohm_subagents._views.listing import task_fact_lines, task_list_lines
from ohm_subagents._views.messages import Message, MessageLog, arguments_in, calls_of, messages_of, text_of
from ohm_subagents._views.model_text import task_text
from ohm_subagents._views.projection import project_task as task_envelope
from ohm_subagents._views.quantities import age_text, duration_text, instant_text
from ohm_subagents._views.status import status_line, task_line
from ohm_subagents._views.task_texts import Wording, activity, elapsed_ms, tool_row, tool_rows
from ohm_subagents._views.theme import PLAIN, Theme, View
from ohm_subagents._views.transcript import transcript_lines

__all__ = [
    "PLAIN",
    "Message",
    "MessageLog",
    "Theme",
    "View",
    "Wording",
    "activity",
    "age_text",
    "arguments_in",
    "assistant_text",
    "call_line",
    "calls_of",
    "cells",
    "duration_text",
    "elapsed_ms",
    "fit",
    "instant_text",
    "messages_of",
    "one_line",
    "preview_lines",
    "printable",
    "printable_json",
    "status_line",
    "task_envelope",
    "task_fact_lines",
    "task_line",
    "task_list_lines",
    "task_text",
    "text_of",
    "tool_row",
    "tool_rows",
    "transcript_lines",
    "wrap",
    "wrapped",
]
