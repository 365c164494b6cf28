"""Parallel sub-agents with profiles, skills, files and resume (000)."""
