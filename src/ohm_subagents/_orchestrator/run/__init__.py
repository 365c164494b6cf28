"""One task from its first prompt to its outcome. Commands, and the choice of profile and backend, stay outside.

`drive` runs each prompt of the `inbox`, follow-ups too; `guard.RunGuard` ends a run by its clocks, loops and budgets;
`gate` and `throttle` admit model requests, `throttle.retry_decision` decides on a refused one; `intake` checks what a
backend reports, `redaction.redacted_event` takes the secrets out of it, `task_record.TaskRecord` keeps it.
"""
