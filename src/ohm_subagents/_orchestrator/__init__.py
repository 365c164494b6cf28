"""The engine: from a command to its reply. Tools of a parent agent, envelopes and screens are made of that elsewhere.

`orchestrator` takes commands, starts and follow-ups; `admission` decides how a task runs, `run_queue` when; `run` runs
it; `ledger` holds its budgets; `finalization.correction` asks for a missing answer; `observe` watches it.
"""
