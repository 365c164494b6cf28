"""Watching a run from outside: observers, log lines, spans. Nothing here changes a task."""
