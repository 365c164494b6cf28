"""Profiles from files: reading, the catalogue, and what a project's may do. Nothing here runs one."""
