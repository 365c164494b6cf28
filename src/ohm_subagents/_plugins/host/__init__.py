"""The plugin host: it finds, checks and registers plugins, and collects what they offer. Never an interface.

`discovery.discover` finds what is installed, `declaration.refusal` says what is wrong with a plugin,
`collection.Collection` asks the hooks.
"""
