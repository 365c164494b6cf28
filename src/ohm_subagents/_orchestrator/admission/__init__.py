"""Decide whether an item may start and how it runs: profile, permission, tools, model, limits. Runs nothing."""
