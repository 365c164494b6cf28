"""Watching a run from outside: observers, log lines, spans. Nothing here changes a task.

`observers.Observers` calls each observer and drops one that raises, `log.LogObserver` writes the log,
`tracing.TaskSpan` makes spans, `host_faults.HostFaults` collects what the host does wrong.
"""
