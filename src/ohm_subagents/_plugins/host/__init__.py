"""The plugin host: it finds, checks and registers plugins, and collects what they offer. Never an interface.

`discovery.discover` finds what is installed, `declaration.Declaration` finds the hooks of a plugin and what is wrong
with them, `collection.Collection` asks them.
"""
