"""Functions that run in a limited interpreter of their own, since foreign input can make them run for ever.

Nothing here may need more than the standard library to start, and nothing here runs a subagent.
"""
