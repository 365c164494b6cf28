"""The suite of 001: `subagent`, one agent and one task at a time."""
