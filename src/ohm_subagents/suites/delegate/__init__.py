"""The suite `delegate`: four tools for parallel sub-agents with profiles, and their commands. Never another suite."""
