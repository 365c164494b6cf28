"""Todo lists for a parent agent, and for subagents (002)."""
