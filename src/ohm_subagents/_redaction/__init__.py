"""Secrets in texts: known values, the forms of keys and tokens, home directories. Pure: no files, no environment."""
