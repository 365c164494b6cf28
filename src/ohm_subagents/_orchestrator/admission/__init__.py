"""Decide whether an item may start and how it runs: profile, permission, tools, model, limits. Runs nothing.

`plan.plan` is the one walk through it; `context.AdmissionContext` holds the facts, `refusals` the words.
"""
