"""The plugin host: it finds, checks and registers plugins, and collects what they offer. Never an interface."""
