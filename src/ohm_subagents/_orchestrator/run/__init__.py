"""One task from its first prompt to its outcome. Commands, and the choice of profile and backend, stay outside.

`drive` runs each prompt of the `inbox`, follow-ups too; `guard` ends a run by its clocks, loops and budgets; `gate` and
`throttle` admit model requests, and decide when a refused one is sent again; `intake` checks what a backend reports.
"""
