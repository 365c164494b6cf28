"""Profiles from files: reading, the catalogue, and what a project's may do. Nothing here runs one.

`catalog.load_catalog` reads the files, `trust.tightened` holds a project's profile to the one that it overrides.
"""
