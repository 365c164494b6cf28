"""Verified outcomes: what the work of a subagent has to pass, run where it has worked, after it has answered.

`checks` runs them, and `outcome` decides what follows.
"""
