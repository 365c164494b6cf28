"""`subagent`: agents that keep their context, and hand in their answers (003)."""
