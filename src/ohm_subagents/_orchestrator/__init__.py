"""The engine: from a command to its reply. Never tools, rendering or JSON payloads.

`orchestrator` takes commands, starts and follow-ups; `admission` decides how a task runs, `run_queue` when; `run` runs
it; `ledger` holds its budgets; `finalization.correction` asks for a missing answer; `observe` watches it.
"""
