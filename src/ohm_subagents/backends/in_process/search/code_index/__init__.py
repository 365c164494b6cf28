"""An index over the words of a tree, in a SQLite file: built by a process of its own, asked in a thread.

Nothing here loads anything but the standard library and, in `index`, anyio and the name of our logger.
"""
